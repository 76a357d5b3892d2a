#include "cli/state/ops_cli.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "lib/json/json_write.h"
#include "ops/maintain/dry_run.h"
#include "ops/maintain/prune.h"
#include "schema/control/registry.h"

#define DAY_MS INT64_C(86400000)

#define NULLED(F, S)          \
	F(S, text, agent)     \
	F(S, i64, events)     \
	F(S, i64, longest_ms) \
	F(S, i64, longest_cpu_ms)
SHAPE_DECLARE(nulled, NULLED);
SHAPE_DEFINE(nulled, NULLED);

struct job {
	int64_t before, events, sum;
	struct staging_dir dry; /* open only in a dry run */
	struct table *t;
};

static int null_one(struct agent_file *f, int64_t until, void *arg,
		    struct err *e)
{
	struct job *j = arg;
	struct prune_options options = {.before = j->before, .until = until};

	j->events = prune_content(f, &options, e);
	return j->events < 0 ? -1 : 0;
}

static int null_file(struct cli *cli, const struct agent_database_row *row,
		     void *arg, struct err *e)
{
	struct job *j = arg;
	struct nulled n = {.agent = row->agent};
	struct sql_lock_time held;

	(void)cli;
	if (dry_run_perform(&j->dry, row, null_one, j, &held, e))
		return -1;
	n.events = j->events;
	n.longest_ms = held.ns / 1000000;
	n.longest_cpu_ms = held.cpu_ns / 1000000;
	j->sum += n.events;
	table_add(j->t, &n);
	return 0;
}

static int redact(struct cli *cli, struct err *e)
{
	struct home_path dir = home_path(&cli->home, HOME_BACKUPS);
	bool dry = cli_flag(cli, "dry-run");
	struct job j = {.dry = {.lock = -1}};
	int64_t days = cli_number(cli, "keep-days", -1);
	struct buf detail = BUF_MAX(256);
	int rc;

	if (days < 0)
		return err_set(e, ERR_USAGE, "--keep-days N is required");
	if (!dry &&
	    cli_confirm(cli,
			arena_printf(&cli->arena,
				     "the content of events older than %lld "
				     "days",
				     (long long)days),
			e))
		return -1;
	j.before = clock_now() - days * DAY_MS;
	if (dry && staging_dir_open(&j.dry, dir.text, ".work",
				    id_new(ID_BACKUP).text, e))
		return -1;
	j.t = table_new(&cli->out, &nulled_shape, "agent events longest_ms");
	rc = ops_each_file(cli, "emptying", null_file, &j, e);
	table_end(j.t);
	staging_dir_close(&j.dry);
	if (rc || dry)
		return rc;
	json_begin_object(&detail);
	json_put_int(&detail, "events", j.sum);
	json_end_object(&detail);
	rc = ops_audit(cli, "state.redact", cli_option(cli, "agent"), detail.p,
		       e);
	buf_fini(&detail);
	return rc;
}

const struct command cmd_state_redact = {
	.name = "state redact",
	.help = "erase the content of old events but keep their "
		"metadata",
	.about = "The bodies of events and the texts, inputs and "
		 "outputs of parts are erased. Types, times, order, "
		 "parents, tokens and cost are kept. Only a backup "
		 "can bring the content back.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(
		OPTION(INT, 0, "keep-days", "N",
		       "keep the content of events younger than N days"),
		FLAG(0, "dry-run",
		     "report how much would be erased without changing "
		     "anything"),
		OPT_AGENT("redact only the database of this agent"),
		OPT_YES("do not ask for confirmation")),
	.run = redact,
};
