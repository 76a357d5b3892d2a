/* The machine: left-over mounts and processes, and what it supports. */
#include "ops/doctor/doctor.h"

#include "lib/base/buf.h"
#include "lib/db/checkpoint.h"
#include "lib/os/file.h"
#include "lib/os/proc.h"
#include "lib/sandbox/cgroup.h"
#include "lib/sandbox/support.h"
#include "schema/control/control.h"
#include "schema/control/run.h"
#include "schema/control_queries.h"
#include "vfs/fuse/mount.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKER "SKEP_RUN_ID" /* in the environment of a run's processes */

/* --- mounts ------------------------------------------------------------------ */

/* A mount of ours whose server is dead: stat fails. */
static void check_mounts(struct doctor *d)
{
	struct buf b = BUF_MAX(16u << 20);
	struct err ignored;
	char *rest = NULL;
	char dir[PATH_MAX], kind[64];
	struct stat st;

	if (file_read("/proc/self/mounts", &b, &ignored)) {
		buf_fini(&b);
		return;
	}
	for (char *line = strtok_r(b.p, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (sscanf(line, "%*s %4095s %63s", dir, kind) == 2 &&
		    !strcmp(kind, "fuse.skep") && stat(dir, &st) &&
		    errno == ENOTCONN)
			doctor_report(d, FINDING_orphan_mount, dir,
				      "the process that served it is dead");
	buf_fini(&b);
}

/* --- processes --------------------------------------------------------------- */

/* The run is known here and has ended: it is not another home's, and not
 * active. */
static bool is_over(struct doctor *d, const char *run)
{
	struct run_row row;
	struct err e;
	int found = sql_get(d->control, Q_RUN_GET, &(struct run_get_in){run},
			    &row, &d->arena, &e);

	return found > 0 &&
	       run_state_is_over((enum run_state)run_state_from(row.state));
}

static bool check_process(void *arg, pid_t pid)
{
	struct doctor *d = arg;
	struct proc_stat st;
	char run[64], text[32];

	if (!proc_env(pid, MARKER, run, sizeof run) || proc_stat(pid, &st) ||
	    st.state == 'Z' || st.state == 'X' || !is_over(d, run))
		return true;
	snprintf(text, sizeof text, "%d", (int)pid);
	doctor_report(d, FINDING_orphan_process, text, "it belongs to %s", run);
	return true;
}

/* --- abilities ---------------------------------------------------------------- */

/* What sandboxes lack on this machine, one finding per part. */
static void check_sandbox(struct doctor *d)
{
	struct sandbox_support o;
	struct buf b = BUF_MAX(4096);
	char *rest = NULL;

	sandbox_probe(&o);
	if (sandbox_missing(&o, NULL, &b) > 0)
		for (char *line = strtok_r(b.p, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			doctor_report(d, FINDING_sandbox_gap, "sandbox", "%s",
				      line);
	buf_fini(&b);
}

/* Of the supervisor, if one is running: its cgroup may differ from ours. */
static pid_t who_runs(struct doctor *d)
{
	struct supervisor_row row = {.pid = 0};
	struct err ignored;

	if (!d->control ||
	    control_supervisor(d->control, &row, &d->arena, &ignored) <= 0)
		return getpid();
	return (pid_t)row.pid;
}

static void check_limits(struct doctor *d, pid_t pid)
{
	static const char *const names[CGROUP_LIMITS] = {
		[CGROUP_MEMORY] = "memory",
		[CGROUP_CPU] = "cpu",
		[CGROUP_PIDS] = "pids"};
	bool has[CGROUP_LIMITS];

	cgroup_probe(pid, has);
	for (int i = 0; i < CGROUP_LIMITS; i++)
		if (!has[i])
			doctor_report(
				d, FINDING_sandbox_gap, "sandbox",
				"limits.%s: no cgroup that holds it (skepd "
				"as a service with Delegate=yes, or as root)",
				names[i]);
}

/* Each run has its own cgroup, if children of skepd's can be created. */
static void check_cgroup(struct doctor *d, pid_t pid)
{
	char dir[CGROUP_PATH];
	bool found = cgroup_unified(pid, dir, sizeof dir);

	if (!found)
		doctor_report(d, FINDING_no_cgroup, "/proc/self/mounts",
			      "the second version of cgroups is not mounted");
	else if (access(dir, W_OK))
		doctor_report(d, FINDING_no_cgroup, dir,
			      "no cgroup can be made here: %s",
			      strerror(errno));
}

static void check_sqlite(struct doctor *d)
{
	if (sql_library_resets_unsafely())
		doctor_report(
			d, FINDING_sqlite_race, "SQLite",
			"this is SQLite %s; versions 3.7.0 to 3.51.2 have "
			"the WAL-reset bug",
			sql_library());
}

void doctor_host(struct doctor *d)
{
	pid_t who = who_runs(d);
	struct err e;

	check_mounts(d);
	if (d->control)
		proc_each(check_process, d);
	if (vfs_mount_check(&e))
		doctor_report(d, FINDING_no_fuse, "/dev/fuse", "%s", e.text);
	check_sandbox(d);
	check_limits(d, who);
	check_cgroup(d, who);
	check_sqlite(d);
}
