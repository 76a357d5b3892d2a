#include "cli/run/live_view.h"

#include "cli/remote.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

#define LIVE_VIEW(F, S)     \
	F(S, text, run)     \
	F(S, text, agent)   \
	F(S, text, session) \
	F(S, text, state)   \
	F(S, text, phase)   \
	F(S, text, age)     \
	F(S, i64, events)   \
	F(S, text, memory)  \
	F(S, i64, procs)    \
	F(S, opt, pid)      \
	F(S, i64, attempt)  \
	F(S, text, health) F(S, text, severity)
SHAPE_DECLARE(live_view, LIVE_VIEW);
SHAPE_DEFINE(live_view, LIVE_VIEW);

static void add_row(struct cli *cli, struct table *t, const cJSON *item)
{
	char age[TEXT_HUMAN], memory[TEXT_HUMAN];
	struct live_view row;

	(void)cli;
	remote_read(item, &live_view_shape, &row);
	row.run = json_text(item, "id", "");
	row.age = text_human_millis(json_i64(item, "age_ms", 0), age);
	row.memory = text_human_bytes(json_i64(item, "rss", 0), memory);
	row.procs = json_i64(item, "processes", 0);
	table_add(t, &row);
}

int live_view_print(struct cli *cli, struct err *e)
{
	static const char path[] = "/v1/live?memory=true";
	const cJSON *item, *items;
	struct table *t;
	cJSON *json;

	if (cli->out.json)
		return remote_list(cli, path, &live_view_shape, "run", e);
	json = remote_call(cli, "GET", path, NULL, e);
	if (!json)
		return -1;
	items = cJSON_GetObjectItem(json, "items");
	t = table_new(&cli->out, &live_view_shape,
		      "run agent state phase age events memory procs attempt "
		      "health severity");
	cJSON_ArrayForEach(item, items)
	{
		add_row(cli, t, item);
	}
	table_end(t);
	cJSON_Delete(json);
	return 0;
}
