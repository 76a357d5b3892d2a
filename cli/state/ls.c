#include "cli/list.h"
#include "cli/state/ops_cli.h"

#include "schema/agent/transcript/session.h"
#include "schema/control/registry.h"

#include <stdlib.h>
#include <string.h>

#define LISTED(F, S)       \
	F(S, text, agent)  \
	F(S, text, key)    \
	F(S, text, status) \
	F(S, text, kind)   \
	F(S, text, title)  \
	F(S, i64, events)  \
	F(S, time, active_at)
SHAPE_DECLARE(listed, LISTED);
SHAPE_DEFINE(listed, LISTED);

struct job {
	struct session_filter filter;
	struct listed *rows;
	int n, max;
};

static int newest_first(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return (x->active_at < y->active_at) - (x->active_at > y->active_at);
}

static void add_session(struct job *j, const char *agent,
			const struct session_item *s)
{
	if (j->n == 2 * j->max) {
		qsort(j->rows, (size_t)j->n, sizeof *j->rows, newest_first);
		j->n = j->max;
	}
	j->rows[j->n++] = (struct listed){agent,       s->key,   s->status,
					  s->kind,     s->title, s->events,
					  s->active_at};
}

static int list_file(struct cli *cli, const struct agent_database_row *row,
		     void *arg, struct err *e)
{
	struct job *j = arg;
	struct session_item *items;
	struct agent_file f;
	int n;

	if (registry_open(row, SQL_READONLY, &f, e))
		return -1;
	n = session_list(&f, &j->filter, &items, &cli->arena, e);
	agent_file_close(&f);
	for (int i = 0; i < n; i++)
		add_session(j, row->agent, &items[i]);
	return n < 0 ? -1 : 0;
}

static int ls(struct cli *cli, struct err *e)
{
	int limit = cli_count(cli, "limit", 50);
	struct job j = {.filter = {.status = cli_option(cli, "status"),
				   .all = cli_flag(cli, "status"),
				   .count = limit},
			.max = limit};
	struct cli_list l = {
		.cli = cli,
		.shape = &listed_shape,
		.columns = "agent key status kind title events active_at",
		.none = "no sessions; 'skep run AGENT PROMPT' starts one",
	};

	if (limit < 1)
		return err_set(e, ERR_USAGE, "--limit must be at least 1");
	j.rows = arena_alloc(&cli->arena,
			     (size_t)(2 * limit + 1) * sizeof *j.rows);
	if (ops_each_file(cli, "reading", list_file, &j, e))
		return -1;
	qsort(j.rows, (size_t)j.n, sizeof *j.rows, newest_first);
	for (int i = 0; i < j.n && i < limit; i++)
		cli_list_add(&l, &j.rows[i]);
	cli_list_end(&l);
	return 0;
}

const struct command cmd_state_ls = {
	.name = "state ls",
	.help = "list the sessions of all agents, the most recently "
		"active first",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(
		OPTION(WORD, 0, "status", "active|archived",
		       "list only sessions with this status (default: not "
		       "archived)"),
		OPT_AGENT("list only sessions of this agent"),
		OPT_LIMIT("list at most N sessions (default 50)"), OPT_LIST),
	.run = ls,
};
