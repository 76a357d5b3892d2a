#include "cli/host/daemon.h"
#include "cli/remote.h"
#include "lib/base/text.h"
#include "schema/control/control.h"
#include "schema/control/lists.h"

#include <inttypes.h>
#include <string.h>

#define APPROVALS_COUNTED 100
#define PROBLEMS_MAX      2000

#define STATUS(F, S)                 \
	F(S, text, problems)         \
	F(S, text, home)             \
	F(S, text, version)          \
	F(S, i64, pid)               \
	F(S, i64, epoch)             \
	F(S, time, started_at)       \
	F(S, i64, active)            \
	F(S, i64, idle)              \
	F(S, i64, queued)            \
	F(S, i64, workers_connected) \
	F(S, i64, preforked)         \
	F(S, bool, stopping)         \
	F(S, bool, read_only)        \
	F(S, text, disk)             \
	F(S, i64, disk_free)         \
	F(S, i64, restarts)          \
	F(S, time, restarted_at) F(S, text, restart_cause) F(S, text, lost)
SHAPE_DECLARE(status, STATUS);
SHAPE_DEFINE(status, STATUS);

/* --- problems, for the first line ---------------------------------------- */

static void add_problem(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_problem(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	if (b->n)
		buf_adds(b, "; ");
	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

static void add_approvals(struct sql *control, struct buf *b)
{
	struct approval_filter open = {
		.state = "open", .before = "~", .count = APPROVALS_COUNTED};
	struct approval_row row;
	struct lists it;
	struct err ignored;
	int n = 0;

	if (lists_open(&it, control, LISTS_APPROVALS, &open, &ignored))
		return;
	while (lists_next(&it, &row))
		n++;
	(void)lists_close(&it, &ignored);
	if (n)
		add_problem(b, "%d%s %s for an answer ('skep approval ls')", n,
			    n == APPROVALS_COUNTED ? " or more" : "",
			    n == 1 ? "approval waits" : "approvals wait");
}

static void add_channels(struct sql *control, struct buf *b)
{
	struct sql_rows it = sql_rows(control, Q_CHANNEL_LIST, NULL);
	struct channel_row row;
	struct err ignored;

	while (sql_next(&it, &row))
		if (row.is_enabled && row.last_error)
			add_problem(b, "channel %s: %s", row.name,
				    quoted(row.last_error).text);
	(void)sql_end(&it, &ignored);
}

static const char *find_problems(struct cli *cli, const struct status *s)
{
	struct buf b = BUF_MAX(PROBLEMS_MAX);
	struct sql *control;
	struct err ignored;
	const char *text;
	char human[TEXT_HUMAN];

	if (s->lost)
		add_problem(&b, "%s", s->lost);
	if (s->read_only || (s->disk && strcmp(s->disk, "ok") != 0))
		add_problem(&b, "the disk is %s (%s free)",
			    s->disk ? s->disk : "full",
			    text_human_bytes(s->disk_free, human));
	if (s->stopping)
		add_problem(&b, "skepd is stopping and starts no runs");
	if (control_open(&control, &cli->home, SQL_READONLY, &ignored) == 0) {
		add_approvals(control, &b);
		add_channels(control, &b);
		sql_close(control);
	}
	text = b.n ? arena_text(&cli->arena, b.p) : NULL;
	buf_fini(&b);
	return text;
}

/* --- the command ---------------------------------------------------------- */

static int print_status(struct cli *cli, struct err *e)
{
	cJSON *json = remote_call(cli, "GET", "/v1/health", NULL, e);
	struct status row;
	int rc = 0;

	if (!json)
		return -1;
	remote_read(json, &status_shape, &row);
	row.home = cli->home.root;
	row.problems = find_problems(cli, &row);
	if (!cli->out.json && !row.problems)
		row.problems = "none";
	output_object(&cli->out, &status_shape, &row);
	if (row.lost)
		rc = err_set(e, ERR_MOVED, "%s", row.lost);
	cJSON_Delete(json);
	return rc;
}

static int status(struct cli *cli, struct err *e)
{
	struct err ignored;

	if (home_is_locked(&cli->home, &ignored) == 1)
		return print_status(cli, e);
	return daemon_absent(cli, e);
}

const struct command cmd_status = {
	.name = "status",
	.help = "show the state of the supervisor",
	.about = "The first line lists problems: a full disk, approvals that "
		 "wait for an answer, channels with errors. If no supervisor "
		 "is running, the command fails and states why.",
	.needs = NEEDS_CONFIG | NEEDS_NO_SETTING,
	.run = status,
};
