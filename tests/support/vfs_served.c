#include "tests/support/vfs_served.h"

#include "lib/db/sql.h"
#include "vfs/fuse/mount.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

bool served_possible(void)
{
	struct err e;

	if (geteuid() == 0 && !vfs_mount_check(&e))
		return true;
	print_message("without a mount: %s\n",
		      geteuid() ? "it needs root" : e.text);
	return false;
}

static void tell_ready(void *arg)
{
	if (write(*(int *)arg, "", 1) != 1)
		_exit(1);
}

static int serve_mount(struct vfs_test *t, const struct vfs_mount_options *o)
{
	struct sql *db = vfs_test_connect(t);
	struct vfs *v;
	struct err e;
	int rc = prctl(PR_SET_PDEATHSIG, SIGTERM) || /* a failed test */
		 vfs_open(&v, db, "main", "test", &e) || vfs_mount(v, o, &e);

	if (rc)
		print_message("%s\n", e.text);
	else
		vfs_close(v);
	sql_close(db);
	return rc != 0;
}

pid_t served_start(struct vfs_test *t, const char *dir, int helpers)
{
	struct vfs_mount_options o = {.dir = dir,
				      .dev_suid = true,
				      .helpers = helpers,
				      .ready = tell_ready};
	int ends[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	o.arg = &ends[1];
	pid = fork();
	if (pid == 0)
		_exit(serve_mount(t, &o));
	close(ends[1]);
	if (read(ends[0], &c, 1) != 1)
		pid = -1;
	close(ends[0]);
	return pid;
}

void served_end(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
