#include "cli/state/ops_cli.h"
#include "cli/state/prune_messages.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "lib/db/snapshot.h"
#include "lib/json/json.h"
#include "ops/maintain/batch.h"
#include "ops/maintain/dry_run.h"
#include "ops/maintain/prune.h"
#include "ops/staging_dir.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <inttypes.h>
#include <string.h>

#define DAY_MS    INT64_C(86400000)
#define MS        INT64_C(1000000)
#define KEEP_DAYS 30
#define KEEP_N    100

struct job {
	struct prune_options options;
	struct staging_dir dry; /* open only in a dry run */
	struct table *t;
	struct pruned one, sum;
	char edge[64];
	struct message_retention messages;
};

static void add_pruned(struct job *j, struct pruned *p,
		       struct sql_lock_time held)
{
	p->longest_ms = held.ns / MS;
	p->longest_cpu_ms = held.cpu_ns / MS;
	j->sum.sessions += p->sessions;
	j->sum.events += p->events;
	j->sum.runs += p->runs;
	j->sum.deliveries += p->deliveries;
	j->sum.inbound += p->inbound;
	j->sum.messages += p->messages;
	j->sum.attachments += p->attachments;
	j->sum.artifacts += p->artifacts;
	j->sum.snapshots += p->snapshots;
	j->sum.freed_bytes += p->freed_bytes;
	table_add(j->t, p);
}

/* Sessions in which runs still wait. */
static int find_busy(struct cli *cli, struct job *j, const char *agent,
		     struct arena *a, struct err *e)
{
	struct run_open_row *rows;
	int n = sql_collect(cli->control, Q_RUN_OPEN,
			    &(struct run_open_in){agent}, 1 << 20, &rows, a, e);
	const char **keys;

	if (n < 0)
		return -1;
	keys = arena_alloc(a, (size_t)(n + 1) * sizeof *keys);
	for (int i = 0; i < n; i++)
		keys[i] = rows[i].session;
	j->options.busy = keys;
	j->options.nbusy = n;
	return 0;
}

static int prune_one(struct agent_file *f, int64_t until, void *arg,
		     struct err *e)
{
	struct job *j = arg;

	j->options.until = until;
	return prune_agent(f, &j->options, &j->one, e);
}

static int prune_file(struct cli *cli, const struct agent_database_row *row,
		      void *arg, struct err *e)
{
	struct job *j = arg;
	struct arena a = {0};
	struct sql_lock_time held;
	int rc = find_busy(cli, j, row->agent, &a, e) ||
		 dry_run_perform(&j->dry, row, prune_one, j, &held, e);

	j->one.agent = row->agent;
	if (!rc)
		add_pruned(j, &j->one, held);
	arena_fini(&a);
	return rc ? -1 : 0;
}

/* --- the control plane ---------------------------------------------------- */

/* No supervisor may start meanwhile; the nested transaction checks that. */
static int prune_batch(struct sql *db, int64_t count, void *arg, struct err *e)
{
	const struct job *j = arg;

	if (control_enter_alone(db, e))
		return -1;
	return sql_leave(
		db, prune_runs(db, j->options.before, j->edge, count, e), e);
}

static int prune_copied(struct sql *db, int64_t count, void *arg, struct err *e)
{
	const struct job *j = arg;

	return prune_runs(db, j->options.before, j->edge, count, e);
}

static int64_t prune_supervised(struct cli *cli, struct job *j, struct err *e)
{
	struct buf body = BUF_MAX(4096);
	int64_t n;

	json_begin_object(&body);
	json_put_int(&body, "before", j->options.before);
	json_put_text(&body, "edge", j->edge);
	json_put_int(&body, "count", 200);
	json_end_object(&body);
	n = ops_ask_batches(cli, "/v1/runs/prune", body.p, e);
	buf_fini(&body);
	return n;
}

static int64_t prune_alone(struct job *j, struct sql *db, struct err *e)
{
	struct batch s = BATCH_BEGIN;

	sql_watch(db);
	return batch_all(&s, db, prune_batch, j, e);
}

/* A dry run, in a copy: the supervisor does not wait for it. */
static int64_t prune_copy(struct cli *cli, struct job *j, struct err *e)
{
	const char *copy = staging_dir_path(&j->dry, "control.sqlite");
	struct batch s = BATCH_BEGIN;
	struct err ignored;
	struct sql *db;
	int64_t n = -1;

	if (db_clone(sql_path(cli->control), copy, e) ||
	    sql_open(&db, copy, control_schema.queries, 0, e))
		return -1;
	if (!sql_enter(db, e)) {
		n = batch_all(&s, db, prune_copied, j, e);
		if (n >= 0 && prune_messages_copied(&j->messages, db, e))
			n = -1;
		(void)sql_leave(db, -1, &ignored); /* never kept */
	}
	sql_close(db);
	return n;
}

static int prune_control(struct cli *cli, struct job *j, struct err *e)
{
	struct pruned p = {.database = "control"};
	bool dry = j->dry.lock >= 0;

	prune_messages_begin(cli, &j->messages, j->options.before);
	if (prune_edge(cli->control, j->options.keep, j->edge, e))
		return -1;
	if (dry)
		p.runs = prune_copy(cli, j, e);
	else
		p.runs = cli->supervised ? prune_supervised(cli, j, e)
					 : prune_alone(j, cli->control, e);
	if (p.runs < 0 || (!dry && prune_messages(cli, &j->messages, e)))
		return -1;
	p.deliveries = j->messages.sum.deliveries;
	p.inbound = j->messages.sum.inbound;
	p.messages = j->messages.sum.messages;
	p.attachments = j->messages.sum.attachments;
	add_pruned(j, &p, sql_longest(cli->control));
	return 0;
}

static int audit_prune(struct cli *cli, const struct job *j, struct err *e)
{
	struct buf detail = BUF_MAX(4096);
	int rc;

	json_add_shape(&detail, &pruned_shape, &j->sum);
	rc = ops_audit(cli, "state.prune", cli_option(cli, "agent"), detail.p,
		       e);
	buf_fini(&detail);
	return rc;
}

static int prune(struct cli *cli, struct err *e)
{
	struct home_path dir = home_path(&cli->home, HOME_BACKUPS);
	bool dry = cli_flag(cli, "dry-run");
	struct job j = {.dry = {.lock = -1}};
	int rc;

	j.options.before = clock_now() -
			   cli_number(cli, "keep-days", KEEP_DAYS) * DAY_MS;
	j.options.keep = cli_number(cli, "keep-n", KEEP_N);
	if (!dry &&
	    cli_confirm(cli,
			arena_printf(&cli->arena,
				     "sessions, runs and messages older than "
				     "%lld days",
				     (long long)cli_number(cli, "keep-days",
							   KEEP_DAYS)),
			e))
		return -1;
	if (dry && staging_dir_open(&j.dry, dir.text, ".work",
				    id_new(ID_BACKUP).text, e))
		return -1;
	j.t = table_new(
		&cli->out, &pruned_shape,
		"database agent sessions events runs deliveries "
		"inbound messages attachments artifacts snapshots freed_bytes "
		"longest_ms longest_cpu_ms");
	rc = ops_each_file(cli, "pruning", prune_file, &j, e);
	if (!rc && !cli_option(cli, "agent"))
		rc = prune_control(cli, &j, e);
	table_end(j.t);
	staging_dir_close(&j.dry);
	if (!rc && dry)
		output_note(&cli->out, "dry run: nothing was changed");
	return rc || dry ? rc : audit_prune(cli, &j, e);
}

const struct command cmd_state_prune = {
	.name = "state prune",
	.help = "delete old sessions, runs, snapshots and messages",
	.about = "Sessions and runs that were last active more than "
		 "--keep-days ago are deleted, except the newest "
		 "--keep-n sessions of each agent and the newest "
		 "--keep-n runs. Active and queued runs and the "
		 "history of existing forks are kept. Delivered and "
		 "discarded messages are deleted by age alone; "
		 "inbound messages are kept at least as long as "
		 "channel.keep_inbound requires.\n"
		 "\n"
		 "The work is done in short transactions, so active "
		 "runs are not delayed. A dry run executes the same "
		 "statements and rolls them back.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(
		OPTION(INT, 0, "keep-days", "N",
		       "keep everything younger than N days (default 30)"),
		OPTION(INT, 0, "keep-n", "N",
		       "keep the newest N sessions of each agent and the "
		       "newest N runs (default 100)"),
		FLAG(0, "dry-run",
		     "report what would be deleted without changing "
		     "anything"),
		FLAG(0, "dead",
		     "delete dead letters older than --keep-days "
		     "too"),
		OPT_AGENT("prune only the database of this agent"),
		OPT_YES("do not ask for confirmation")),
	.run = prune,
};
