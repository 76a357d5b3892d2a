#include "vfs/fuse/mount.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
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

/* Serving a mount: the loop, and when to commit. */

#define BATCH_MAX      256
#define BATCH_NS       5000000 /* 5 ms */
#define READ_MS        2       /* an idle reader ends its transaction */
#define LOOK_MS        50      /* delay until others' changes are visible */
#define LOOK_NS        (INT64_C(1000000) * LOOK_MS)
#define HELP_AFTER     4 /* consecutive reads that had to wait */
#define ENDING_NS      INT64_C(3000000000)
#define ENDING_LOOK_US 50000

/* Invalidates everything that the kernel may have cached. */
static void forget_all(struct mnt *m)
{
	struct node_refs *held = &m->v->held;
	struct node n;
	struct err e;
	int64_t ino;

	notify_node(m->notify, VFS_ROOT);
	for (size_t i = 0; (ino = node_refs_next(held, &i));) {
		notify_node(m->notify, ino);
		if (node_find(m->v, ino, &n, &e) > 0)
			notify_entry(m->notify, n.parent, n.name);
	}
}

/* Every name of the node: the kernel drops the node, and the size that it has
 * for it, only when all are dropped. */
void mnt_forget_names(struct mnt *m, int64_t ino)
{
	struct vfs_range r = range_of(m->v->ns);
	struct vfs_dentry_of_in key = {r.lo, r.hi, ino};
	struct arena mem = {0};
	struct vfs_dentry_of_row *rows;
	struct err e;
	int n = sql_collect(m->v->db, Q_VFS_DENTRY_OF, &key, 1000, &rows, &mem,
			    &e);

	for (int i = 0; i < n; i++)
		notify_entry(m->notify, rows[i].dir & INO_MASK,
			     arena_textn(&mem, rows[i].name.p, rows[i].name.n));
	arena_fini(&mem);
}

/* Another process wrote to a file that the kernel knows. */
static void invalidate_content(struct mnt *m, int64_t ino)
{
	char tail[4096];
	struct node n;
	struct err e;
	int64_t off;
	ssize_t got;

	if (!node_refs_count(&m->v->held, ino) ||
	    node_find(m->v, ino, &n, &e) <= 0)
		return;
	if (n.nlink > 1)
		mnt_forget_names(m, ino);
	if (n.size == 0)
		return;
	off = (n.size - 1) / (int64_t)sizeof tail * (int64_t)sizeof tail;
	got = data_read(m->v, &n, tail, sizeof tail, off, &e);
	if (got > 0)
		notify_tail(m->notify, ino, off, tail, (size_t)got);
}

static void invalidate_change(struct mnt *m, const struct vfs_change *c)
{
	switch (c->op) {
	case VFS_OP_rollback:
	case VFS_OP_merge:
		forget_all(m);
		return;
	case VFS_OP_remove:
		/* the remover left the node to us: it is deleted when it is
		 * released */
		if (node_refs_count(&m->v->held, c->ino))
			node_refs_add(&m->v->orphans, c->ino,
				      node_refs_count(&m->v->orphans, c->ino)
					      ? 0
					      : 2);
		break;
	case VFS_OP_snapshot:
		return;
	case VFS_OP_create:
	case VFS_OP_write:
	case VFS_OP_attr:
	case VFS_OP_link:
	case VFS_OP_move_from:
	case VFS_OP_move_to:
	case VFS_OP_drift:
		break;
	}
	notify_entry(m->notify, c->dir, c->name);
	notify_node(m->notify, c->ino);
	if (c->op == VFS_OP_write)
		invalidate_content(m, c->ino);
}

/* What others did since the last check. Call it inside a transaction. */
static int poll_journal(struct mnt *m, struct err *e)
{
	struct arena mem = {0};
	struct vfs_change *c;
	int64_t last;
	int n = 1;

	m->looked = clock_mono_ns();
	if (vfs_last_change(m->v, &last, e))
		return -1;
	if (m->seen < last) /* before the kernel is notified */
		m->epoch++;
	while (n > 0 && m->seen < last) {
		arena_reset(&mem);
		n = vfs_changes(m->v, m->seen, 1000, &c, &mem, e);
		for (int i = 0; i < n; i++)
			if (strcmp(c[i].who, m->who) != 0)
				invalidate_change(m, &c[i]);
		m->seen = n > 0 ? c[n - 1].seq : last;
	}
	arena_fini(&mem);
	return n < 0 ? -1 : 0;
}

int mnt_read_raw(struct mnt *m, struct err *e)
{
	m->reads++;
	if (m->v->batch || m->v->reading)
		return 0;
	if (!vfs_begin_read(m->v, e) && !poll_journal(m, e))
		return 0;
	vfs_end_read(m->v);
	return -1;
}

int mnt_read(struct mnt *m, fuse_req_t req)
{
	struct err e;

	if (!mnt_read_raw(m, &e))
		return 0;
	mnt_fail(req, &e);
	return -1;
}

/* The batch has ended: other connections now see the same as this one. */
static void published(struct mnt *m)
{
	node_refs_fini(&m->v->changed);
	m->epoch++;
}

int mnt_begin(struct mnt *m, struct err *e)
{
	if (m->v->batch)
		return 0;
	if (vfs_begin(m->v, e))
		return -1;
	m->changes = 0;
	m->batch_since = clock_mono_ns();
	wait_timer_set(m->wait_timer, BATCH_NS);
	if (!poll_journal(m, e))
		return 0;
	wait_timer_set(m->wait_timer, 0);
	vfs_rollback(m->v);
	published(m);
	return -1;
}

int mnt_follow(struct mnt *m, fuse_req_t req)
{
	struct err e;

	if (!mnt_begin(m, &e))
		return 0;
	mnt_fail(req, &e);
	return -1;
}

int mnt_change(struct mnt *m, fuse_req_t req)
{
	if (mnt_follow(m, req))
		return -1;
	m->changes++;
	return 0;
}

void mnt_forget(struct mnt *m, int64_t ino, uint64_t times)
{
	struct err ignored;

	if (node_refs_count(&m->v->orphans, ino)) /* the end of its removal */
		(void)mnt_begin(m, &ignored);
	vfs_unref(m->v, ino, times);
}

int mnt_commit(struct mnt *m, struct err *e)
{
	int rc;

	if (!m->v->batch)
		return 0;
	wait_timer_set(m->wait_timer, 0);
	if (!m->v->lost)
		(void)mnt_access_write(m, e);
	rc = vfs_commit(m->v, e);
	published(m);
	if (rc)
		return -1;
	/* we checked when it began, and no one wrote since: all rows are
	 * ours */
	if (m->v->last_journal > m->seen)
		m->seen = m->v->last_journal;
	return 0;
}

/* After a request, and after each wait. A failed commit loses what was
 * acknowledged since the last one, like a disk that fails under a page cache;
 * only fsync promises durability, and it reports the error. */
static void commit_if_due(struct mnt *m, bool idle)
{
	struct err e;

	if (mnt_access_full(m))
		(void)mnt_begin(m, &e);

	if (m->v->batch &&
	    (m->changes >= BATCH_MAX || m->v->lost ||
	     clock_mono_ns() - m->batch_since >= BATCH_NS) &&
	    mnt_commit(m, &e)) {
		fprintf(stderr, "skep: %s\n", e.text);
		forget_all(m);
	}
	if (m->v->reading && (idle || m->reads >= BATCH_MAX)) {
		vfs_end_read(m->v);
		m->reads = 0;
	}
	/* also when no request uses this connection */
	if ((idle || clock_mono_ns() - m->looked >= LOOK_NS) && !m->v->batch &&
	    !m->v->reading && !vfs_begin_read(m->v, &e)) {
		poll_journal(m, &e);
		vfs_end_read(m->v);
	}
}

/* False after the time-out. The alarm ends the wait when a batch is due. */
static bool await(struct mnt *m, struct server *s, struct busy_poll *p)
{
	int ms;

	if (!helpers_awake(m->helpers) &&
	    busy_poll_ready(p, fuse_session_fd(m->se)))
		return true;
	mnt_lock(m);
	ms = s->reader || m->v->reading ? READ_MS : LOOK_MS;
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

/* Read requests that were already waiting are work for the helpers. Then this
 * thread, too, reads beside the others. */
static void get_help(struct mnt *m, struct server *s, unsigned *waited)
{
	*waited = server_took_read(s) ? *waited + 1 : 0;
	if (*waited > HELP_AFTER)
		helpers_wake(m->helpers);
	if (!helpers_awake(m->helpers))
		return;
	if (!s->reader)
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

	m->heard = signals;
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
	if (signals == m->heard)
		return false;
	m->heard = signals;
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

static void serve_requests(struct mnt *m, struct server *s)
{
	struct busy_poll patience = {0};
	unsigned waited = 0; /* reads in a row that were there at once */
	int got = 0;

	while (got >= 0 && !must_end(m)) {
		bool idle = false;

		got = server_take(s);
		if (got == 0) {
			waited = 0;
			idle = !await(m, s, &patience);
			got = server_take(s);
		}
		if (got > 0) {
			busy_poll_hit(&patience);
			get_help(m, s, &waited);
			server_answer(s);
		}
		if (idle)
			reader_rest(s->reader);
		mnt_lock(m);
		commit_if_due(m, idle);
		mnt_unlock(m);
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

	while ((taken = vfs_open_process_begin(m->v, &server, e)) > 0) {
		rc = attach_mount(m->v, o, (pid_t)server, e);
		if (rc >= 0 || e->code != ERR_BUSY || clock_mono_ns() > until)
			return rc;
		usleep(ENDING_LOOK_US);
	}
	if (taken < 0 || vfs_last_change(m->v, &m->seen, e))
		return -1;
	rc = mount_and_serve(m, o, e);
	vfs_open_process_end(m->v);
	return rc;
}

int vfs_mount(struct vfs *v, const struct vfs_mount_options *o, struct err *e)
{
	struct mnt m = {.v = v, .lock = PTHREAD_MUTEX_INITIALIZER};
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
	if (vfs_last_change(v, &m.seen, e))
		return -1;
	do
		rc = v->snap ? mount_and_serve(&m, o, e)
			     : mount_or_attach(&m, o, e);
	while (rc > 0);
	cookies_fini(&m.cookies);
	return rc;
}
