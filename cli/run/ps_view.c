#include "cli/run/ps_view.h"

#include "cli/remote.h"
#include "lib/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define QUEUED_MAX 1000 /* maximum of the route */

SHAPE_DEFINE(ps_row, PS_ROW);

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

const char *ps_path(struct cli *cli, const struct ps_filter *f)
{
	struct buf path = BUF_MAX(16u << 10);
	const char *text;

	buf_adds(&path, "/v1/active?memory=true");
	if (f->queued)
		buf_addf(&path, "&queued=true&limit=%lld",
			 (long long)(f->queued < QUEUED_MAX ? f->queued
							    : QUEUED_MAX));
	add_parameter(&path, "agent", f->agent);
	add_parameter(&path, "tag", f->tag);
	add_parameter(&path, "invocation", f->invocation);
	text = arena_text(&cli->arena, path.p);
	buf_fini(&path);
	return text;
}

struct ps_row ps_row_of(const struct run_row *row)
{
	return (struct ps_row){.id = row->id,
			       .agent = row->agent,
			       .state = row->state,
			       .reason = row->reason,
			       .created_at = row->created_at,
			       .events = row->last_seq,
			       .processes = OPT_NONE,
			       .severity = row->severity,
			       .health = row->health,
			       .name = row->name,
			       .session = row->session,
			       .attempt = row->attempt,
			       .pid = row->pid,
			       .rss_bytes = OPT_NONE,
			       .ended_at = row->ended_at,
			       .invocation = row->invocation,
			       .tags = row->tags};
}

/* The row of the control plane, with what the supervisor knows. */
static void read_item(struct cli *cli, const cJSON *item, struct ps_row *out,
		      char memory[TEXT_HUMAN], struct arena *a)
{
	struct run_get_in key = {json_text(item, "id", "")};
	int64_t rss = json_i64(item, "rss", 0);
	struct run_row row;
	struct err ignored;

	*out = (struct ps_row){.created_at = OPT_NONE, .ended_at = OPT_NONE};
	if (sql_get(cli->control, Q_RUN_GET, &key, &row, a, &ignored) == 1)
		*out = ps_row_of(&row);
	out->id = key.id;
	out->agent = json_text(item, "agent", "");
	out->session = json_text(item, "session", "");
	out->state = json_text(item, "state", "");
	out->phase = json_text(item, "phase", NULL);
	out->health = json_text(item, "health", NULL);
	out->severity = json_text(item, "severity", NULL);
	out->events = json_i64(item, "events", 0);
	out->pid = json_i64(item, "pid", OPT_NONE);
	out->processes = json_i64(item, "processes", OPT_NONE);
	out->rss_bytes = rss ? rss : OPT_NONE; /* 0: it has no process yet */
	out->memory = rss ? text_human_bytes(rss, memory) : NULL;
}

int ps_active(struct cli *cli, const struct ps_filter *f,
	      void (*fn)(void *arg, struct ps_row *row), void *arg,
	      struct err *e)
{
	cJSON *json = remote_call(cli, "GET", ps_path(cli, f), NULL, e);
	struct arena a = {0};
	const cJSON *item;

	if (!json)
		return -1;
	cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "items"))
	{
		char memory[TEXT_HUMAN];
		struct ps_row row;

		arena_reset(&a);
		read_item(cli, item, &row, memory, &a);
		fn(arg, &row);
	}
	arena_fini(&a);
	cJSON_Delete(json);
	return 0;
}
