#include "cli/session/session_find.h"

#include "lib/base/text.h"
#include "schema/agent/transcript/session.h"
#include "schema/control/agent.h"
#include "schema/control/registry.h"

#include <string.h>

#define AGENTS_SHOWN 6

int session_each_file(struct cli *cli, const char *agent, ops_file *fn,
		      void *arg, struct err *e)
{
	struct agent_database_row *rows;
	struct agent_row row;
	int n, rc = 0;

	n = sql_collect(cli->control, Q_AGENT_DATABASE_LIST, NULL, 1 << 20,
			&rows, &cli->arena, e);
	for (int i = 0; rc == 0 && i < n; i++)
		if (!agent || !strcmp(agent, rows[i].agent)) {
			rc = fn(cli, &rows[i], arg, e);
			agent = agent ? "" : NULL; /* found */
		}
	if (n < 0 || rc)
		return -1;
	return agent && *agent
		       ? agents_get(cli->control, agent, &row, &cli->arena, e)
		       : 0;
}

struct session_search {
	const char *key;
	const char *agents[AGENTS_SHOWN];
	int n;
};

static int look_in_file(struct cli *cli, const struct agent_database_row *row,
			void *arg, struct err *e)
{
	struct session_search *s = arg;
	struct session_row session;
	struct agent_file file;
	int found;

	if (registry_open(row, SQL_READONLY, &file, e))
		return -1;
	found = session_get(&file, s->key, &session, &cli->arena, e);
	agent_file_close(&file);
	if (found > 0 && s->n < AGENTS_SHOWN)
		s->agents[s->n++] = row->agent;
	return found < 0 ? -1 : 0;
}

int session_find_agent(struct cli *cli, const char *key, const char **agent,
		       struct err *e)
{
	struct session_search s = {.key = key};
	struct buf list = BUF_MAX(400);

	*agent = NULL;
	if (session_each_file(cli, NULL, look_in_file, &s, e))
		return -1;
	if (s.n == 1)
		*agent = s.agents[0];
	if (s.n <= 1)
		return 0;
	for (int i = 0; i < s.n; i++)
		buf_addf(&list, "%s%s", i ? ", " : "", s.agents[i]);
	err_set(e, ERR_USAGE,
		"session '%s' exists for the agents %s%s; choose one with "
		"--agent",
		quoted(key).text, list.p, s.n == AGENTS_SHOWN ? ", …" : "");
	buf_fini(&list);
	return -1;
}
