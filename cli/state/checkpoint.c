#include "cli/state/ops_cli.h"

#include "lib/db/checkpoint.h"
#include "schema/control/registry.h"

#include <string.h>

#define CHECKPOINTED(F, S)      \
	F(S, text, database)    \
	F(S, text, agent)       \
	F(S, bool, busy)        \
	F(S, i64, log_frames)   \
	F(S, i64, checkpointed) \
	F(S, text, path)
SHAPE_DECLARE(checkpointed, CHECKPOINTED);
SHAPE_DEFINE(checkpointed, CHECKPOINTED);

#define WAIT_MS 1000

static const char *const modes[] = {"full", "restart", "truncate"};

struct job {
	enum sql_checkpoint mode;
	struct table *t;
	bool busy;
};

static int checkpoint_one(struct job *j, const char *path, const char *agent,
			  struct err *e)
{
	struct checkpointed row = {.database = agent ? "agent" : "control",
				   .agent = agent,
				   .path = path};
	struct sql_checkpoint_result r = {0};
	struct sql *db;
	int rc;

	if (sql_open(&db, path, NULL, 0, e))
		return -1;
	rc = sql_checkpoint(db, j->mode, WAIT_MS, &r, e);
	sql_close(db);
	if (rc)
		return -1;
	row.busy = r.busy;
	row.log_frames = r.log_frames < 0 ? 0 : r.log_frames;
	row.checkpointed = r.checkpointed < 0 ? 0 : r.checkpointed;
	j->busy = j->busy || r.busy;
	table_add(j->t, &row);
	return 0;
}

static int checkpoint_file(struct cli *cli,
			   const struct agent_database_row *row, void *arg,
			   struct err *e)
{
	(void)cli;
	return checkpoint_one(arg, row->path, row->agent, e);
}

static int checkpoint(struct cli *cli, struct err *e)
{
	const char *mode = cli_option(cli, "mode");
	struct job j = {.mode = SQL_CHECKPOINT_TRUNCATE};
	int rc;

	for (size_t i = 0; mode && i < sizeof modes / sizeof modes[0]; i++)
		if (!strcmp(mode, modes[i]))
			j.mode = (enum sql_checkpoint)i;
	j.t = table_new(&cli->out, &checkpointed_shape,
			"database agent busy log_frames checkpointed");
	rc = ops_each_file(cli, "checkpoints", checkpoint_file, &j, e);
	if (!rc && !cli_option(cli, "agent"))
		rc = checkpoint_one(&j, sql_path(cli->control), NULL, e);
	table_end(j.t);
	if (!rc && j.busy)
		output_note(&cli->out,
			    "busy: a reader or writer blocked the "
			    "checkpoint; the log was copied as far as "
			    "possible");
	return rc ? -1
		  : ops_audit(cli, "state.checkpoint", cli_option(cli, "agent"),
			      NULL, e);
}

const struct command cmd_state_checkpoint = {
	.name = "state checkpoint",
	.help = "copy the write-ahead logs into the databases",
	.about = "The mode full copies the log, restart also makes the next "
		 "writer start at the beginning of the log, and truncate also "
		 "empties the log. Writers wait in the meantime. If a reader "
		 "or writer blocks the checkpoint for more than a second, the "
		 "database is reported as busy and the log is copied as far as "
		 "possible.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(
		OPTION(WORD, 0, "mode", "full|restart|truncate",
		       "mode of the checkpoint (default truncate)"),
		OPT_AGENT("checkpoint only the database of this agent")),
	.run = checkpoint,
};
