/* The process that serves the mount of a run's workspace. */
#include "lib/base/fault.h"
#include "lib/json/json.h"
#include "lib/sandbox/sandbox.h"
#include "schema/agent/agent_file.h"
#include "vfs/core/vfs.h"
#include "vfs/fuse/mount.h"
#include "worker/workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_to(const char *path, const char *text, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (!done)
		err_errno_set(e, "%s", path);
	if (fd >= 0)
		close(fd);
	return done ? 0 : -1;
}

/* Without root, a user namespace is needed to mount in our own mount
 * namespace. */
static int own_users(struct err *e)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return err_errno_set(e, "cannot create a user and mount "
					"namespace");
	if (write_to("/proc/self/setgroups", "deny", e))
		return -1;
	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	if (write_to("/proc/self/uid_map", map, e))
		return -1;
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	return write_to("/proc/self/gid_map", map, e);
}

static int in_a_chroot(struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED,
		       "the root directory is not a mount point, so "
		       "private mounts are not possible; bind it to "
		       "itself before the chroot (mount --bind DIR "
		       "DIR)");
}

/* Creates a mount namespace, and an unused directory in it. */
static int own_place(struct err *e)
{
	if (geteuid() != 0) {
		if (own_users(e))
			return -1;
	} else if (unshare(CLONE_NEWNS)) {
		return err_errno_set(e, "cannot create a mount namespace");
	}
	if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
		return errno == EINVAL
			       ? in_a_chroot(e)
			       : err_errno_set(
					 e, "cannot make the mounts slaves of "
					    "the host's mounts");
	if (mount("skep", WORKSPACE_PLACE, "tmpfs", MS_NOSUID | MS_NODEV,
		  "mode=0755,size=64k"))
		return err_errno_set(e, "tmpfs on " WORKSPACE_PLACE);
	if (mkdir(WORKSPACE_MOUNT, 0755))
		return err_errno_set(e, WORKSPACE_MOUNT);
	return 0;
}

/* Restricts the process: it needs only the agent file, and to read the lower
 * directory. */
struct needs {
	const char *own;
	const char *base; /* or NULL */
};

static int drop_privileges(void *arg, struct err *e)
{
	const struct needs *n = arg;
	struct sandbox_plan p = {.own = n->own};

	if (n->base)
		p.shown.path[p.shown.n++] = n->base;
	return sandbox_server(&p, e);
}

static void report_ready(void *arg)
{
	(void)arg;
	printf("ready\n");
	(void)fflush(stdout);
}

static int serve_mount(struct vfs *v, bool shared, const char *own,
		       struct err *e)
{
	struct needs needs = {.own = own, .base = vfs_base(v)};
	struct vfs_mount_options o = {.dir = WORKSPACE_MOUNT,
				      .own_namespace = true,
				      .shared = shared,
				      .mounted = drop_privileges,
				      .ready = report_ready,
				      .arg = &needs};

	return vfs_mount(v, &o, e);
}

/* An ephemeral namespace is deleted with its mount. If this fails, or the
 * process is killed, the end of the attempt hides it. */
static void destroy_ephemeral(struct sql *db, const struct files_plan *p)
{
	struct err ignored;

	if (!p->ephemeral || fault_point(FAULT_workspace_leaving, &ignored))
		return;
	(void)vfs_destroy(db, p->name, &ignored);
	(void)vfs_gc(db, &ignored); /* of runs that were killed */
}

static void report_progress(void)
{
	(void)putchar(WORKSPACE_BUSY);
	(void)fflush(stdout);
}

/* Its row exists: the run has begun. */
static int follow_run(struct vfs *v, struct sql *db, const char *run,
		      struct err *e)
{
	struct run_local_id_row row;
	int found = sql_get(db, Q_RUN_LOCAL_ID, &(struct run_local_id_in){run},
			    &row, NULL, e);

	if (found > 0)
		vfs_follow_run(v, row.id);
	return found < 0 ? -1 : 0;
}

static int open_and_serve(struct sql *db, const struct files_plan *p,
			  const char *own, struct err *e)
{
	struct vfs *v;
	int rc;

	if (files_namespace(&v, db, p, report_progress, e))
		return -1;
	rc = follow_run(v, db, p->run, e) || own_place(e)
		     ? -1
		     : serve_mount(v, p->shared, own, e);
	vfs_close(v);
	destroy_ephemeral(db, p);
	return rc;
}

static int read_plan(struct files_plan *p, const cJSON *v)
{
	for (size_t i = 0; i < files_plan_shape.nfields; i++) {
		const struct field *f = &files_plan_shape.fields[i];
		void *at = field_out(f, p);

		if (f->type == FIELD_text)
			*(const char **)at = json_text(v, f->name, NULL);
		else if (f->type == FIELD_bool)
			*(bool *)at = json_bool(v, f->name, false);
		else
			*(int64_t *)at = json_i64(v, f->name, 0);
	}
	return p->name && p->make && p->run ? 0 : -1;
}

static int serve_plan(const char *agent_db, const char *agent, const char *plan,
		      const char *own, struct err *e)
{
	struct files_plan p = {0};
	struct agent_file f;
	cJSON *v = json_parse_object("the workspace", plan, strlen(plan), e);
	int rc = -1;

	if (!v)
		return -1;
	if (read_plan(&p, v))
		err_set(e, ERR_INVALID, "the workspace has no name");
	else if (vfs_mount_check(e) == 0 &&
		 agent_file_open(&f, agent_db, agent, 0, e) == 0) {
		rc = open_and_serve(f.db, &p, own, e);
		agent_file_close(&f);
	}
	cJSON_Delete(v);
	return rc;
}

int workspace_serve(const char *agent_db, const char *agent, const char *plan)
{
	char *path = strdup(agent_db);
	struct err e = {0};
	int rc;

	if (!path)
		abort();
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); /* commits, then
							  * exits */
	rc = serve_plan(agent_db, agent, plan, dirname(path), &e);
	if (rc)
		printf("%s\n", e.text);
	free(path);
	return rc ? err_exit_status(e.code) : 0;
}
