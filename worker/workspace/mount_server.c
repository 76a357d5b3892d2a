/* The process that serves the mount of a run's workspace. */
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

/* Without root, a user namespace gives the right to mount in our own. */
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

/* A mount namespace of our own, and in it a place that is nobody's. */
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

/* What it needs from here on: the agent's file, and to read what is below. */
struct needs {
	const char *own;
	const char *base; /* "": nothing */
	int64_t max;
};

static int drop_privileges(void *arg, struct err *e)
{
	const struct needs *n = arg;
	struct sandbox_plan p = {.own = n->own};

	if (n->base[0])
		p.shown.path[p.shown.n++] = n->base;
	return sandbox_server(&p, e);
}

static void report_ready(void *arg)
{
	(void)arg;
	printf("ready\n");
	(void)fflush(stdout);
}

static int serve_mount(struct sql *db, struct needs *n, struct err *e)
{
	struct vfs_mount_options o = {.dir = WORKSPACE_MOUNT,
				      .own_namespace = true,
				      .mounted = drop_privileges,
				      .ready = report_ready,
				      .arg = n};
	struct files_plan p = {
		.db = db, .base = n->base[0] ? n->base : NULL, .max = n->max};
	struct vfs *v;
	int rc;

	if (files_main(&v, &p, e))
		return -1;
	rc = vfs_mount(v, &o, e);
	vfs_close(v);
	return rc;
}

int workspace_serve(const char *agent_db, const char *agent, const char *base,
		    const char *max)
{
	char *path = strdup(agent_db);
	struct needs needs = {.base = base, .max = strtoll(max, NULL, 10)};
	struct agent_file f;
	struct err e = {0};
	int rc;

	if (!path)
		abort();
	needs.own = dirname(path);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); /* commit, then go */
	rc = vfs_mount_check(&e);
	if (rc == 0)
		rc = agent_file_open(&f, agent_db, agent, 0, &e);
	if (rc == 0) {
		rc = own_place(&e);
		if (rc == 0)
			rc = serve_mount(f.db, &needs, &e);
		agent_file_close(&f);
	}
	if (rc)
		printf("%s\n", e.text);
	free(path);
	return rc ? err_exit_status(e.code) : 0;
}
