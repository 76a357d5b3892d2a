#include "cli/run/live_view.h"

#include "cli/list.h"
#include "cli/remote.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define QUEUED_MAX 1000 /* maximum of the route */

#define LIVE_ROW(F, S)      \
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
SHAPE_DECLARE(live_row, LIVE_ROW);
SHAPE_DEFINE(live_row, LIVE_ROW);

static void add_row(struct cli_list *l, const cJSON *item)
{
	char age[TEXT_HUMAN], memory[TEXT_HUMAN];
	struct live_row row;

	remote_read(item, &live_row_shape, &row);
	row.run = json_text(item, "id", "");
	row.age = text_human_millis(json_i64(item, "age_ms", 0), age);
	row.memory = json_i64(item, "rss", 0)
			     ? text_human_bytes(json_i64(item, "rss", 0),
						memory)
			     : NULL; /* it has no process yet */
	row.procs = json_i64(item, "processes", 0);
	cli_list_add(l, &row);
}

static void add_parameter(struct buf *path, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addf(path, "&%s=", name);
	for (; *value; value++)
		if (isalnum((unsigned char)*value) || strchr("-._~", *value))
			buf_addc(path, *value);
		else
			buf_addf(path, "%%%02X", (unsigned char)*value);
}

static const char *make_path(struct cli *cli, const struct live_view *v)
{
	struct buf path = BUF_MAX(16u << 10);
	const char *text;

	buf_adds(&path, "/v1/active?memory=true");
	if (v->queued)
		buf_addf(&path, "&queued=true&limit=%lld",
			 (long long)(v->queued < QUEUED_MAX ? v->queued
							    : QUEUED_MAX));
	add_parameter(&path, "agent", v->agent);
	add_parameter(&path, "tag", v->tag);
	add_parameter(&path, "invocation", v->invocation);
	text = arena_text(&cli->arena, path.p);
	buf_fini(&path);
	return text;
}

int live_view_print(struct cli *cli, const struct live_view *v, struct err *e)
{
	const char *path = make_path(cli, v);
	struct cli_list l = {.cli = cli,
			     .shape = &live_row_shape,
			     .columns = "run agent state phase age events "
					"memory procs attempt health severity",
			     .none = v->queued
					     ? "no queued or active runs; "
					       "'skep ps --all' lists every run"
					     : "no active runs; 'skep ps "
					       "--all' lists every run"};
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
