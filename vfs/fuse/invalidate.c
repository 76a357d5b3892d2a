#include "vfs/fuse/invalidate.h"

#include "lib/os/thread.h"
#include "vfs/fuse/internal.h"

#include <stdlib.h>
#include <string.h>

struct note {
	struct note *next;
	int64_t ino;
	int64_t off; /* range of bytes of the file; -1: it is a name */
	size_t n;
	char bytes[]; /* a name, "" for the node itself; or content */
};

struct notify {
	struct fuse_session *se;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct note *first, **last;
	uint64_t added; /* notifications so far */
	_Atomic uint64_t done;
	bool stop;
};

static struct note *take_note(struct notify *n)
{
	struct note *note;

	pthread_mutex_lock(&n->lock);
	while (!n->first && !n->stop)
		pthread_cond_wait(&n->some, &n->lock);
	note = n->stop ? NULL : n->first;
	if (note) {
		n->first = note->next;
		if (!n->first)
			n->last = &n->first;
	}
	pthread_mutex_unlock(&n->lock);
	return note;
}

/* ENOENT is fine: the kernel does not know the name. */
static void send_note(struct fuse_session *se, struct note *note)
{
	fuse_ino_t ino = (fuse_ino_t)note->ino;

	if (note->off >= 0) {
		struct fuse_bufvec v = FUSE_BUFVEC_INIT(note->n);

		v.buf[0].mem = note->bytes;
		fuse_lowlevel_notify_store(se, ino, note->off, &v, 0);
		return;
	}
	if (note->n)
		fuse_lowlevel_notify_inval_entry(se, ino, note->bytes, note->n);
	fuse_lowlevel_notify_inval_inode(se, ino, 0, 0);
}

static void *send_notes(void *arg)
{
	struct notify *n = arg;
	struct note *note;

	while ((note = take_note(n))) {
		send_note(n->se, note);
		free(note);
		n->done++;
	}
	return NULL;
}

struct notify *notify_start(struct fuse_session *se)
{
	struct notify *n = calloc(1, sizeof *n);

	if (!n)
		abort();
	n->se = se;
	n->last = &n->first;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->some, NULL);
	if (thread_start(&n->thread, 0, send_notes, n))
		abort();
	return n;
}

void notify_stop(struct notify *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_signal(&n->some);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	while (n->first) {
		struct note *note = n->first;

		n->first = note->next;
		free(note);
	}
	pthread_mutex_destroy(&n->lock);
	pthread_cond_destroy(&n->some);
	free(n);
}

static uint64_t queue_note(struct notify *n, int64_t ino, int64_t off,
			   const void *p, size_t len)
{
	uint64_t ticket;
	struct note *note = calloc(1, sizeof *note + len + 1);

	if (!note)
		abort();
	note->ino = ino;
	note->off = off;
	note->n = len;
	memcpy(note->bytes, p, len);
	pthread_mutex_lock(&n->lock);
	*n->last = note;
	n->last = &note->next;
	ticket = ++n->added;
	pthread_cond_signal(&n->some);
	pthread_mutex_unlock(&n->lock);
	return ticket;
}

void notify_entry(struct notify *n, int64_t dir, const char *name)
{
	queue_note(n, dir, -1, name, strlen(name));
}

uint64_t notify_node(struct notify *n, int64_t ino)
{
	return queue_note(n, ino, -1, "", 0);
}

bool notify_done(struct notify *n, uint64_t ticket)
{
	return n->done >= ticket;
}

bool notify_idle(struct notify *n)
{
	bool idle;

	pthread_mutex_lock(&n->lock);
	idle = n->done >= n->added;
	pthread_mutex_unlock(&n->lock);
	return idle;
}

void notify_tail(struct notify *n, int64_t ino, int64_t off, const void *p,
		 size_t len)
{
	queue_note(n, ino, off, p, len);
}
