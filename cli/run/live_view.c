#include "cli/run/live_view.h"

#include "cli/list.h"
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

static void add_row(struct cli_list *l, const cJSON *item)
{
	char age[TEXT_HUMAN], memory[TEXT_HUMAN];
	struct live_view row;

	remote_read(item, &live_view_shape, &row);
	row.run = json_text(item, "id", "");
	row.age = text_human_millis(json_i64(item, "age_ms", 0), age);
	row.memory = text_human_bytes(json_i64(item, "rss", 0), memory);
	row.procs = json_i64(item, "processes", 0);
	cli_list_add(l, &row);
}

int live_view_print(struct cli *cli, struct err *e)
{
	static const char path[] = "/v1/active?memory=true";
	struct cli_list l = {.cli = cli,
			     .shape = &live_view_shape,
			     .columns = "run agent state phase age events "
					"memory procs attempt health severity",
			     .none = "no active runs; 'skep ps --all' lists "
				     "every run"};
	const cJSON *item;
	cJSON *json;

	if (cli->out.json)
		return remote_print_items(cli, path, e);
	json = remote_call(cli, "GET", path, NULL, e);
	if (!json)
		return -1;
	cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "items"))
		add_row(&l, item);
	cJSON_Delete(json);
	cli_list_end(&l);
	return 0;
}
