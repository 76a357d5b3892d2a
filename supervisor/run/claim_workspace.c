#include "supervisor/run/claim.h"

#include "lib/json/json.h"
#include "lib/os/file.h"

#include <string.h>

/* The path in the definition, or a directory beside the agent file. */
static const char *agent_dir(struct claim *c, const cJSON *spec, struct err *e)
{
	const char *path = json_text(spec, "path", NULL);
	struct home_path own;

	if (path)
		return arena_text(&c->arena, path);
	own = home_join(&c->sup->home, HOME_AGENTS,
			arena_printf(&c->arena, "%s/workspace", c->agent.name));
	return file_make_dir(own.text, 0700, e)
		       ? NULL
		       : arena_text(&c->arena, own.text);
}

/* The file of the agent whose namespace is forked. */
static int find_fork_file(struct claim *c, struct err *e)
{
	const char *agent = c->workspace.fork_agent;
	struct agent_database_get_in key = {agent};
	struct agent_database_row row;
	int found;

	if (!agent)
		return 0;
	found = sql_get(c->sup->db, Q_AGENT_DATABASE_GET, &key, &row, &c->arena,
			e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "agent %s does not exist or has no database, so "
			       "its namespace %s cannot be forked",
			       agent, c->workspace.fork_of);
	c->fork_db = found > 0 ? row.path : NULL;
	return found < 0 ? -1 : 0;
}

/* What the session names, as far as skepd knows. */
static int assume_session(struct claim *c, struct err *e)
{
	struct run_session_guess_in key = {c->run.agent, c->run.session,
					   c->run.id};
	struct run_session_guess_row row = {0};

	c->session_workspace = c->run.session_workspace;
	if (!c->session_workspace && strcmp(c->run.session, c->run.id) != 0) {
		if (sql_get(c->sup->db, Q_RUN_SESSION_GUESS, &key, &row,
			    &c->arena, e) < 0)
			return -1;
		c->session_workspace = row.session_workspace;
	}
	if (!c->session_workspace)
		c->session_workspace = "";
	return 0;
}

static int choose(struct claim *c, const cJSON *spec, struct err *e)
{
	const struct run_active_row *r = &c->run;
	struct run_workspace_choice choice = {
		.run = r,
		.mode = c->agent.workspace,
		.dir = agent_dir(c, spec, e),
		.spec = spec,
	};

	if (!choice.dir || assume_session(c, e))
		return -1;
	c->names_workspace = r->workspace || r->fork_of || r->over_dir ||
			     r->is_fresh || r->is_ephemeral;
	if (c->session_workspace[0])
		choice.session = c->session_workspace;
	if (run_workspace_choose(&c->workspace, &choice, &c->arena, e))
		return -1;
	return find_fork_file(c, e);
}

const char *claim_workspace_mode(const struct claim *c)
{
	if (c->workspace.dir)
		return "disk";
	return c->workspace.base ? "vfs-scratch" : "vfs-only";
}

/* The script driver uses no files. */
static const char *workspace_of(const struct claim *c)
{
	if (!strcmp(c->agent.driver, "script"))
		return NULL;
	return c->workspace.dir ? c->workspace.dir : c->workspace.name;
}

static int unblock(struct claim *c, const char *works_in, struct err *e)
{
	struct run_unblock_in in = {c->run.agent, works_in};

	if (!works_in)
		return 0;
	c->sup->runs->schedule = true;
	return sql_exec(c->sup->db, Q_RUN_UNBLOCK, &in, e) < 0 ? -1 : 0;
}

/* A run that cannot share the workspace waits for it and comes first: 1, 0, -1.
 * Otherwise runs that share it could keep it waiting for ever. */
static int is_preceded(struct claim *c, struct err *e)
{
	struct run_blocked_first_in key = {c->run.agent, c->run.works_in};
	struct run_blocked_first_row row;
	int found = sql_get(c->sup->db, Q_RUN_BLOCKED_FIRST, &key, &row,
			    &c->arena, e);

	if (found <= 0)
		return found;
	return row.priority > c->run.priority ||
	       (row.priority == c->run.priority &&
		strcmp(row.id, c->run.id) < 0);
}

/* 1: another run must leave the workspace first. */
static int must_wait(struct claim *c, struct err *e)
{
	struct active_runs *t = &c->sup->runs->active;
	const struct run_active_row *r = &c->run;

	if (!r->works_in)
		return 0;
	if (active_run_in(t, r->agent, r->works_in, r->is_shared))
		return 1;
	return r->is_shared && active_run_in(t, r->agent, r->works_in, false)
		       ? is_preceded(c, e)
		       : 0;
}

int claim_workspace(struct claim *c, const cJSON *spec, struct err *e)
{
	const char *waited = c->run.works_in;
	struct run_block_in block = {c->run.id, NULL};
	int wait;

	if (choose(c, spec, e))
		return -1;
	c->run.works_in = block.works_in = workspace_of(c);
	c->run.is_shared = c->workspace.share;
	/* it waited for another workspace: those behind it must not */
	if (waited && (!c->run.works_in || strcmp(waited, c->run.works_in)) &&
	    unblock(c, waited, e))
		return -1;
	wait = must_wait(c, e);
	if (wait > 0 && sql_exec(c->sup->db, Q_RUN_BLOCK, &block, e) < 0)
		return -1;
	return wait > 0 ? START_BLOCKED : wait;
}

int claim_started(struct claim *c, struct err *e)
{
	return c->run.is_shared ? unblock(c, c->run.works_in, e) : 0;
}
