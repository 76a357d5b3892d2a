#include "vfs/fuse/mount.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/db/checkpoint.h"
#include "vfs/core/core.h"
#include "vfs/fuse/attach.h"
#include "vfs/fuse/internal.h"
#include "vfs/fuse/mountpoint.h"
#include "vfs/fuse/reader.h"
#include "vfs/fuse/reader_threads.h"
#include "vfs/fuse/wait_timer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Serving a mount: the loop. */

#define READ_MS        2 /* an idle reader ends its transaction */
#define HELP_AFTER     4 /* consecutive reads that had to wait */
#define ENDING_NS      INT64_C(3000000000)
#define ENDING_POLL_US 50000

/* False after the time-out. The alarm ends the wait when a batch is due. */
static bool await(struct mnt *m, struct server *s, struct busy_poll *p)
{
	int ms;

	if (s->placement.unknown && !s->reads &&
	    busy_poll_ready(p, fuse_session_fd(m->se)))
		return true;
	mnt_lock(m);
	ms = s->reads || m->v->reading ? READ_MS : MNT_POLL_MS;
	mnt_unlock(m);
	return server_wait(s, ms);
}

void mnt_serve_request(struct mnt *m, const struct fuse_buf *request)
{
	mnt_lock(m);
	mnt_peek(m, request->mem, request->size);
	if (!mnt_serve_raw(m, request->mem, request->size))
		fuse_session_process_buf(m->se, request);
	mnt_unlock(m);
}

void mnt_serve_one(struct mnt *m, int ms)
{
	struct pollfd p = {.fd = fuse_session_fd(m->se), .events = POLLIN};
	struct fuse_buf request = {0};

	if (poll(&p, 1, ms) > 0 &&
	    fuse_session_receive_buf(m->se, &request) > 0)
		mnt_serve_request(m, &request);
	free(request.mem);
}

/* Reads of several clients, or of a file that the kernel reads ahead, are work
 * for the helpers. Then this thread, too, reads beside the others. */
static void get_help(struct mnt *m, struct server *s, bool parallel,
		     unsigned *waited)
{
	if (m->shared)
		return; /* helpers may read older data */
	*waited = parallel && server_took_read(s) ? *waited + 1 : 0;
	if (*waited > HELP_AFTER)
		helpers_wake(m->helpers);
	s->reads = helpers_awake(m->helpers);
	if (s->reads && !s->reader)
		s->reader = reader_open(m);
}

/* libfuse's own handlers end the session and drop a request that was already
 * received, which is harmless only if no client is left. */
static volatile sig_atomic_t signals; /* number of signals that ask to end */

static void count_signal(int sig)
{
	(void)sig;
	signals = signals + 1;
}

static void handle_signals(struct mnt *m)
{
	struct sigaction count = {.sa_handler = count_signal},
			 ignore = {.sa_handler = SIG_IGN};

	m->handled = signals;
	sigaction(SIGHUP, &count, NULL);
	sigaction(SIGINT, &count, NULL);
	sigaction(SIGTERM, &count, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

/* After a signal. A run that uses this mount as its workspace would lose it:
 * the mount is removed from its directory, and served until the run has
 * ended. */
static bool must_end(struct mnt *m)
{
	struct err ignored;
	pid_t run;

	if (fuse_session_exited(m->se))
		return true;
	if (signals == m->handled)
		return false;
	m->handled = signals;
	run = m->stays || !m->dir ? 0 : attach_run(m->v, m->dir);
	if (!run) {
		fuse_session_exit(m->se);
		return true;
	}
	m->stays = true;
	fprintf(stderr,
		"skep: the mount is in use by a run (process "
		"%ld) and is served until the run ends; "
		"interrupt again to end it at once\n",
		(long)run);
	(void)vfs_unmount(m->dir, &ignored);
	return false;
}

/* A transaction of the reader that stays open keeps the log from being reset. */
static void end_turn(struct mnt *m, struct server *s, bool idle)
{
	mnt_lock(m);
	if (s->reader && (idle || !s->reads || mnt_batch_is_due(m) ||
			  reader_is_old(s->reader)))
		reader_rest(s->reader);
	mnt_commit_if_due(m, idle);
	mnt_unlock(m);
}

static void serve_requests(struct mnt *m, struct server *s)
{
	struct busy_poll spins = {0};
	unsigned waited = 0; /* parallel reads in a row */
	int got = 0;

	placement_init(&s->placement);
	while (got >= 0 && !must_end(m)) {
		bool idle = false, parallel;

		got = server_take(s);
		parallel = got > 0 && server_took_parallel(s);
		if (got == 0) {
			idle = !await(m, s, &spins);
			got = server_take(s);
		}
		if (got > 0) {
			busy_poll_hit(&spins);
			placement_request(&s->placement, server_client(s),
					  parallel || server_took_more(s));
			if (server_took_removal(s))
				placement_apart(&s->placement);
			get_help(m, s, parallel, &waited);
			server_answer(s);
		} else {
			placement_idle(&s->placement);
		}
		end_turn(m, s, idle);
	}
}

/* Cleans up after the mount has ended. */
static int finish_mount(struct mnt *m, struct err *e)
{
	int rc = m->accessed.n ? mnt_begin(m, e) : 0;

	if (mnt_commit(m, e))
		rc = -1;
	vfs_end_read(m->v);
	return rc;
}

static int serve_all(struct mnt *m, const struct vfs_mount_options *o,
		     struct err *e)
{
	struct server s;

	if (server_init(&s, m))
		return err_errno_set(e, "waiting for requests");
	m->helpers = helpers_start(m, o->helpers);
	m->dir = o->mounted ? NULL : o->dir;
	serve_requests(m, &s);
	helpers_stop(m->helpers);
	server_fini(&s);
	return finish_mount(m, e);
}

static int serve_at(struct mnt *m, const struct vfs_mount_options *o, int fd,
		    struct err *e)
{
	int rc;

	if (fuse_session_custom_io(m->se, &mnt_io, fd)) {
		close(fd);
		return err_set(e, ERR_INTERNAL,
			       "cannot start the FUSE session");
	}
	handle_signals(m);
	if (o->mounted && o->mounted(o->arg, e))
		return -1;
	m->notify = notify_start(m->se);
	m->wait_timer = wait_timer_start();
	if (o->ready)
		o->ready(o->arg);
	rc = serve_all(m, o, e);
	wait_timer_stop(m->wait_timer);
	notify_stop(m->notify);
	return rc;
}

static int mount_and_serve(struct mnt *m, const struct vfs_mount_options *o,
			   struct err *e)
{
	struct fuse_lowlevel_ops ops = {.init = mnt_init};
	char *argv[] = {(char[]){"skep"}, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct guard guard;
	int fd, rc = -1;

	fuse_tree_ops(&ops);
	fuse_dir_ops(&ops);
	fuse_data_ops(&ops);
	m->se = fuse_session_new(&args, &ops, sizeof ops, m);
	fuse_opt_free_args(&args);
	if (!m->se)
		return err_set(e, ERR_INTERNAL,
			       "cannot create the FUSE session");
	fd = fuse_mount_open(o, m->v, &guard, e);
	if (fd >= 0)
		rc = serve_at(m, o, fd, e);
	fuse_session_destroy(m->se); /* closes fd */
	if (fd >= 0)
		fuse_mount_close(&guard);
	return rc;
}

/* 1: the server that this mount was attached to has exited. A server that is
 * exiting is given some time. */
static int mount_or_attach(struct mnt *m, const struct vfs_mount_options *o,
			   struct err *e)
{
	int64_t until = clock_mono_ns() + ENDING_NS, server;
	int rc, taken;

	while ((taken = vfs_open_process_begin(m->v, o->shared, &server, e)) >
	       0) {
		rc = attach_mount(m->v, o, (pid_t)server, e);
		if (rc >= 0 || e->code != ERR_BUSY || clock_mono_ns() > until)
			return rc;
		usleep(ENDING_POLL_US);
	}
	if (taken < 0 || vfs_last_change(m->v, &m->seen, e))
		return -1;
	rc = mount_and_serve(m, o, e);
	vfs_open_process_end(m->v);
	return rc;
}

int vfs_mount(struct vfs *v, const struct vfs_mount_options *o, struct err *e)
{
	struct mnt m = {
		.v = v, .shared = o->shared, .lock = PTHREAD_MUTEX_INITIALIZER};
	int rc;

	/* a changed host file makes a write fail in the middle */
	v->batch_atomic = !v->base;
	v->tracks = true;
	snprintf(m.who, sizeof m.who, "mount:%ld", (long)getpid());
	free(v->who);
	v->who = strdup(m.who);
	if (!v->who)
		abort();
	/* As in any filesystem, only fsync waits for the disk. */
	sql_defer_sync(v->db, true);
	sql_checkpoint_at(v->db, MNT_LOG_FRAMES);
	if (vfs_last_change(v, &m.seen, e))
		return -1;
	do
		rc = v->snap ? mount_and_serve(&m, o, e)
			     : mount_or_attach(&m, o, e);
	while (rc > 0);
	cookies_fini(&m.cookies);
	return rc;
}
