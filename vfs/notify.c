#include "vfs/notify.h"

#include "vfs/fuse_core.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct note {
	struct note *next;
	int64_t ino;
	size_t n;
	char name[]; /* empty: the node itself */
};

struct notify {
	struct fuse_session *se;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct note *first, **last;
	bool stop;
};

static struct note *take(struct notify *n)
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

static void *run(void *arg)
{
	struct notify *n = arg;
	struct note *note;

	while ((note = take(n))) {
		fuse_ino_t ino = (fuse_ino_t)note->ino;

		/* what the kernel does not know (ENOENT) is fine */
		if (note->n)
			fuse_lowlevel_notify_inval_entry(n->se, ino, note->name,
							 note->n);
		fuse_lowlevel_notify_inval_inode(n->se, ino, 0, 0);
		free(note);
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
	if (pthread_create(&n->thread, NULL, run, n))
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

static void add(struct notify *n, int64_t ino, const char *name)
{
	size_t len = strlen(name);
	struct note *note = calloc(1, sizeof *note + len + 1);

	if (!note)
		abort();
	note->ino = ino;
	note->n = len;
	memcpy(note->name, name, len);
	pthread_mutex_lock(&n->lock);
	*n->last = note;
	n->last = &note->next;
	pthread_cond_signal(&n->some);
	pthread_mutex_unlock(&n->lock);
}

void notify_entry(struct notify *n, int64_t dir, const char *name)
{
	add(n, dir, name);
}

void notify_node(struct notify *n, int64_t ino)
{
	add(n, ino, "");
}
