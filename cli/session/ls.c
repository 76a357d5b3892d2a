#include "cli/list.h"
#include "cli/session/session_find.h"

#include "schema/agent/transcript/session.h"
#include "schema/control/registry.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 200

#define SESSION_VIEW(F, S)       \
	F(S, text, key)          \
	F(S, text, agent)        \
	F(S, text, status)       \
	F(S, text, kind)         \
	F(S, text, title)        \
	F(S, text, model)        \
	F(S, i64, events)        \
	F(S, time, active_at)    \
	F(S, i64, id)            \
	F(S, text, sid)          \
	F(S, text, source)       \
	F(S, text, parent)       \
	F(S, bool, is_ephemeral) \
	F(S, opt, base)          \
	F(S, i64, base_seq) F(S, time, created_at) F(S, time, updated_at)
SHAPE_DECLARE(session_view, SESSION_VIEW);
SHAPE_DEFINE(session_view, SESSION_VIEW);

struct session_views {
	struct session_view *rows; /* on the heap; texts in the arena */
	int64_t n, cap;
	int64_t limit; /* of each agent */
};

static struct session_view view_of(const char *agent,
				   const struct session_item *s)
{
	return (struct session_view){
		.key = s->key,
		.agent = agent,
		.status = s->status,
		.kind = s->kind,
		.title = s->title,
		.model = s->model,
		.events = s->events,
		.active_at = s->active_at,
		.id = s->id,
		.sid = s->sid,
		.source = s->source,
		.parent = s->parent,
		.is_ephemeral = s->is_ephemeral,
		.base = s->base,
		.base_seq = s->base_seq,
		.created_at = s->created_at,
		.updated_at = s->updated_at,
	};
}

static void add_view(struct session_views *v, const char *agent,
		     const struct session_item *s)
{
	if (v->n == v->cap) {
		v->cap = v->cap ? 2 * v->cap : 64;
		v->rows = realloc(v->rows, (size_t)v->cap * sizeof *v->rows);
		if (!v->rows)
			abort();
	}
	v->rows[v->n++] = view_of(agent, s);
}

/* The newest sessions of one agent. */
static int read_sessions(struct cli *cli, const struct agent_database_row *row,
			 void *arg, struct err *e)
{
	struct session_filter f = {.status = cli_option(cli, "status"),
				   .kind = cli_option(cli, "kind"),
				   .source = cli_option(cli, "source"),
				   .model = cli_option(cli, "model"),
				   .parent = cli_option(cli, "parent"),
				   .prefix = cli_option(cli, "prefix"),
				   .all = cli_flag(cli, "all"),
				   .before = cli_number(cli, "before", 0)};
	struct session_views *v = arg;
	struct session_item *items;
	struct agent_file file;
	int64_t left = v->limit;
	int n;

	if (registry_open(row, SQL_READONLY, &file, e))
		return -1;
	do {
		f.count = left < PAGE ? (int)left : PAGE;
		n = f.count ? session_list(&file, &f, &items, &cli->arena, e)
			    : 0;
		for (int i = 0; i < n; i++)
			add_view(v, row->agent, &items[i]);
		f.before = n > 0 ? items[n - 1].id : 0;
		left -= n > 0 ? n : 0;
	} while (n == PAGE);
	agent_file_close(&file);
	return n < 0 ? -1 : 0;
}

static int newest_session_first(const void *a, const void *b)
{
	const struct session_view *x = a, *y = b;

	return (x->active_at < y->active_at) - (x->active_at > y->active_at);
}

static int session_ls(struct cli *cli, struct err *e)
{
	const char *agent = cli_option(cli, "agent");
	struct session_views v = {.limit = cli_number(cli, "limit", INT64_MAX)};
	struct cli_list l = {
		.cli = cli,
		.shape = &session_view_shape,
		.columns =
			agent ? "key status kind title model events active_at"
			      : "key agent status kind title model events "
				"active_at",
		.none = agent ? arena_printf(&cli->arena,
					     "no sessions of agent '%s'", agent)
			      : "no sessions; 'skep run AGENT PROMPT' starts "
				"one",
	};
	int rc;

	if (cli_option(cli, "before") && !agent)
		return err_set(e, ERR_USAGE, "--before needs --agent");
	rc = session_each_file(cli, agent, read_sessions, &v, e);
	if (rc == 0 && !agent)
		qsort(v.rows, (size_t)v.n, sizeof *v.rows,
		      newest_session_first);
	for (int64_t i = 0; rc == 0 && i < v.n && i < v.limit; i++)
		cli_list_add(&l, &v.rows[i]);
	free(v.rows);
	if (rc == 0)
		cli_list_end(&l);
	return rc;
}

const struct command cmd_session_ls = {
	.name = "session ls",
	.help = "list sessions, newest first",
	.about = "Without --agent, the list covers all agents. Archived and "
		 "ephemeral sessions are hidden unless --all or --status is "
		 "given.",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(
		OPT_ALL("list archived and ephemeral sessions too"),
		OPT_AGENT("list only sessions of this agent"),
		OPTION(WORD, 0, "status", "active|archived|deleted",
		       "list only sessions with this status"),
		OPTION(WORD, 0, "kind", "chat|task|fork|subagent|import|system",
		       "list only sessions of this kind"),
		OPTION(TEXT, 0, "source", "TEXT",
		       "list only sessions from this source"),
		OPTION(TEXT, 'm', "model", "MODEL",
		       "list only sessions that used this model"),
		OPTION(TEXT, 0, "parent", "SESSION",
		       "list only sessions started from this session"),
		OPTION(TEXT, 0, "prefix", "TEXT",
		       "list only sessions whose key starts with TEXT"),
		OPTION(INT, 0, "before", "ID",
		       "list only sessions older than the one with this row id "
		       "(\"id\" in the output of --json)"),
		OPT_LIMIT("list at most N sessions (default: all)"), OPT_LIST),
	.run = session_ls,
};
