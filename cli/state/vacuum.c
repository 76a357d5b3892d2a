#include "cli/state/ops_cli.h"

#include "lib/db/checkpoint.h"
#include "lib/db/vacuum.h"
#include "lib/os/file.h"
#include "lib/os/process.h"
#include "ops/maintain/batch.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <inttypes.h>
#include <string.h>

#define WAIT_MS 1000

#define VACUUMED(F, S)       \
	F(S, text, database) \
	F(S, text, agent)    \
	F(S, i64, before)    \
	F(S, i64, after)     \
	F(S, i64, longest_ms)
SHAPE_DECLARE(vacuumed, VACUUMED);
SHAPE_DEFINE(vacuumed, VACUUMED);

struct job {
	bool incremental;
	bool halfway; /* the control plane is vacuumed incrementally only */
	struct table *t;
};

/* VACUUM blocks all writers until it ends. */
static int refuse_runs(struct cli *cli, const char *agent, struct err *e)
{
	struct run_open_row *rows;
	int n = sql_collect(cli->control, Q_RUN_OPEN,
			    &(struct run_open_in){agent}, 1 << 20, &rows,
			    &cli->arena, e);

	for (int i = 0; i < n; i++)
		if (strcmp(rows[i].state, "queued") != 0)
			return err_set(
				e, ERR_BUSY,
				"run %s of agent '%s' is %s and would have "
				"to wait; use --incremental, or retry when "
				"the run has ended",
				rows[i].id, agent, rows[i].state);
	return n < 0 ? -1 : 0;
}

static int vacuum_database(struct job *j, struct sql *db, struct vacuumed *v,
			   struct err *e)
{
	struct sql_checkpoint_result r;
	struct batch s = BATCH_BEGIN;
	int rc;

	v->before = file_size(sql_path(db));
	sql_watch(db);
	if (j->incremental)
		rc = batch_vacuum(&s, db, INT64_MAX, e) < 0 ? -1 : 0;
	else
		rc = sql_vacuum(db, e);
	if (!rc)
		rc = sql_checkpoint(db,
				    j->incremental ? SQL_CHECKPOINT_FULL
						   : SQL_CHECKPOINT_TRUNCATE,
				    WAIT_MS, &r, e);
	v->after = file_size(sql_path(db));
	v->longest_ms = sql_longest(db).ns / 1000000;
	return rc;
}

static int vacuum_file(struct cli *cli, const struct agent_database_row *row,
		       void *arg, struct err *e)
{
	struct job *j = arg;
	struct vacuumed v = {.database = "agent", .agent = row->agent};
	struct agent_file f;
	int rc;

	if ((!j->incremental && refuse_runs(cli, row->agent, e)) ||
	    registry_open(row, 0, &f, e))
		return -1;
	rc = vacuum_database(j, f.db, &v, e);
	agent_file_close(&f);
	if (!rc)
		table_add(j->t, &v);
	return rc;
}

/* The file shrinks with the next checkpoint. */
static int bytes_in(struct sql *db, int64_t *out, struct err *e)
{
	int64_t size;

	if (sql_script_i64(db, "PRAGMA page_count", out, e) ||
	    sql_script_i64(db, "PRAGMA page_size", &size, e))
		return -1;
	*out *= size;
	return 0;
}

/* Only the supervisor writes it, and a full VACUUM would block its loop. */
static int vacuum_supervised(struct cli *cli, struct job *j, struct vacuumed *v,
			     struct err *e)
{
	if (bytes_in(cli->control, &v->before, e) ||
	    ops_ask_batches(cli, "/v1/vacuum", "{\"pages\":1000}", e) < 0 ||
	    bytes_in(cli->control, &v->after, e))
		return -1;
	table_add(j->t, v);
	j->halfway = !j->incremental;
	return 0;
}

static int vacuum_control(struct cli *cli, struct job *j, struct err *e)
{
	struct vacuumed v = {.database = "control"};

	if (cli->supervised)
		return vacuum_supervised(cli, j, &v, e);
	if (vacuum_database(j, cli->control, &v, e))
		return -1;
	table_add(j->t, &v);
	return 0;
}

static int vacuum(struct cli *cli, struct err *e)
{
	struct job j = {.incremental = cli_flag(cli, "incremental")};
	int rc;

	j.t = table_new(&cli->out, &vacuumed_shape,
			"database agent before after longest_ms");
	rc = ops_each_file(cli, "vacuum", vacuum_file, &j, e);
	if (!rc && !cli_option(cli, "agent"))
		rc = vacuum_control(cli, &j, e);
	table_end(j.t);
	if (!rc && j.halfway)
		output_note(&cli->out,
			    "the control plane was vacuumed incrementally; to "
			    "rewrite it, run 'skep down' first");
	return rc ? -1
		  : ops_audit(cli, "state.vacuum", cli_option(cli, "agent"),
			      j.incremental ? "{\"incremental\":true}" : NULL,
			      e);
}

const struct command cmd_state_vacuum = {
	.name = "state vacuum",
	.help = "return free space of the databases to the file "
		"system",
	.about = "Each database is rewritten without free pages. This "
		 "fails if a run of the agent would have to wait. "
		 "--incremental returns free pages in short "
		 "transactions instead and works while runs are "
		 "active. The control plane of a running supervisor "
		 "is always vacuumed incrementally.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(FLAG('i', "incremental",
				"return free pages in short transactions"),
			   OPT_AGENT("vacuum only the database of this agent")),
	.run = vacuum,
};
