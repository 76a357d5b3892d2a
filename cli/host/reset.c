#include "cli/state/ops_cli.h"

#include "lib/base/text.h"
#include "lib/db/snapshot.h"
#include "lib/os/file.h"
#include "ops/backup/restore.h"
#include "ops/maintain/audit_export.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* No other process may have it open. A file that cannot be opened is not in
 * use. */
static int refuse_open(const char *path, struct err *e)
{
	struct sql *db;
	struct err none;
	int rc;

	if (!file_exists(path) || sql_open(&db, path, NULL, 0, &none))
		return 0;
	rc = db_alone(db, e);
	sql_close(db);
	return rc;
}

static int remove_file(struct cli *cli, const struct agent_database_row *row,
		       void *arg, struct err *e)
{
	(void)cli;
	(void)arg;
	return refuse_open(row->path, e) || db_remove(row->path, e) ? -1 : 0;
}

static int forget(struct cli *cli, void *arg, struct err *e)
{
	return registry_forget(cli->control, arg, e) ||
			       control_audit(cli->control, NULL, "reset.agent",
					     arg, NULL, e)
		       ? -1
		       : 0;
}

static int reset_agent(struct cli *cli, const char *name, struct err *e)
{
	struct agent_database_row row;
	struct cli_act act = {.direct = forget,
			      .arg = arena_text(&cli->arena, name)};
	int found;

	if (text_check_name("agent", name, e) || cli_open_control(cli, e))
		return -1;
	found = registry_find(cli->control, name, &row, &cli->arena, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "agent '%s' has no data", name);
	if (found < 0 ||
	    cli_confirm_always(
		    cli,
		    arena_printf(&cli->arena, "all data of agent %s", name),
		    e) ||
	    cli_act(cli, &act, e))
		return -1;
	return remove_file(cli, &row, NULL, e);
}

static int forget_one(struct cli *cli, const struct agent_database_row *row,
		      void *arg, struct err *e)
{
	struct cli_act act = {.direct = forget,
			      .arg = arena_text(&cli->arena, row->agent)};

	(void)arg;
	return remove_file(cli, row, NULL, e) || cli_act(cli, &act, e) ? -1 : 0;
}

static int reset_sessions(struct cli *cli, struct err *e)
{
	if (cli_confirm_always(
		    cli, "the sessions and all other data of every agent", e) ||
	    cli_open_control(cli, e))
		return -1;
	return ops_each_file(cli, "removing", forget_one, NULL, e)
		       ? -1
		       : ops_audit(cli, "reset.sessions", NULL, NULL, e);
}

static int reset_config(struct cli *cli, struct err *e)
{
	struct home_path control = home_path(&cli->home, HOME_CONTROL_DB);
	struct home_path path = home_path(&cli->home, HOME_CONFIG);

	if (cli_confirm_always(cli, path.text, e))
		return -1;
	if (unlink(path.text) && errno != ENOENT)
		return err_errno_set(e, "%s", path.text);
	if (!file_exists(control.text))
		return 0;
	return cli_open_control(cli, e)
		       ? -1
		       : ops_audit(cli, "reset.config", NULL, NULL, e);
}

static int reset_all(struct cli *cli, struct err *e)
{
	struct home_path control = home_path(&cli->home, HOME_CONTROL_DB);
	struct home_path config = home_path(&cli->home, HOME_CONFIG);

	if (cli_confirm_always(
		    cli, "the state of all agents, and the configuration", e))
		return -1;
	if (file_exists(control.text)) {
		if (cli_open_control(cli, e) ||
		    ops_audit(cli, "reset.all", NULL, NULL, e) ||
		    ops_each_file(cli, "removing", remove_file, NULL, e) ||
		    audit_archive(cli->control, &cli->home, e))
			return -1;
		sql_close(cli->control);
		cli->control = NULL;
		if (refuse_open(control.text, e) || db_remove(control.text, e))
			return -1;
	}
	return unlink(config.text) && errno != ENOENT
		       ? err_errno_set(e, "%s", config.text)
		       : 0;
}

static int reset(struct cli *cli, struct err *e)
{
	const char *scope = cli_arg(cli, 0), *name = cli_arg(cli, 1);
	int rc;

	if (text_check_word("SCOPE", "config|sessions|agent|all", scope, e))
		return -1;
	if (!strcmp(scope, "agent") != (name != NULL))
		return err_set(
			e, ERR_USAGE,
			name ? "AGENT is valid only with the scope "
			       "'agent'"
			     : "AGENT is missing; usage: skep reset agent "
			       "AGENT");
	if (restore_refuse_live(&cli->home, e))
		return -1;
	if (!strcmp(scope, "config"))
		rc = reset_config(cli, e);
	else if (!strcmp(scope, "sessions"))
		rc = reset_sessions(cli, e);
	else if (!strcmp(scope, "agent"))
		rc = reset_agent(cli, name, e);
	else
		rc = reset_all(cli, e);
	if (!rc)
		output_note(&cli->out, "reset %s", name ? name : scope);
	return rc;
}

const struct command cmd_reset = {
	.name = "reset",
	.args = "SCOPE [AGENT]",
	.help = "delete state permanently",
	.about = "Databases are deleted with their -wal and -shm "
		 "files. Credentials, backups and workspaces are "
		 "kept. The command fails while the home is in use.\n"
		 "\n"
		 "The audit log records the reset. If the control "
		 "plane is deleted, its audit log is kept in "
		 "logs/" AUDIT_FILE ".",
	.needs = NEEDS_HOME,
	.arguments = ARGUMENTS(
		{"SCOPE", "config (skep.json), agent (the database of AGENT), "
			  "sessions (the databases of all agents; definitions "
			  "and run history are kept) or all (everything, "
			  "including the control plane)"},
		{"AGENT", "agent to reset, with the scope 'agent'"}),
	.options = OPTIONS(OPT_YES("do not ask for confirmation")),
	.run = reset,
};
