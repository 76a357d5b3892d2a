#include "cli/host/daemon.h"
#include "cli/remote.h"

#define STATUS(F, S)                 \
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

static int print_status(struct cli *cli, struct err *e)
{
	cJSON *json = remote_call(cli, "GET", "/v1/health", NULL, e);
	struct status row;
	int rc = 0;

	if (!json)
		return -1;
	remote_read(json, &status_shape, &row);
	row.home = cli->home.root;
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
	.needs = NEEDS_CONFIG | NEEDS_NO_SETTING,
	.run = status,
};
