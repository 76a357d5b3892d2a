#include "vfs/fuse/reader_threads.h"

#include "lib/os/thread.h"
#include "vfs/fuse/internal.h"
#include "vfs/fuse/reader.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define HELPERS_MAX 3
#define IDLE_MS     2

struct helpers {
	struct mnt *m;
	pthread_mutex_t lock;
	pthread_cond_t called;
	bool always;
	_Atomic bool stop;
	unsigned calls;         /* that no helper has taken yet */
	_Atomic unsigned awake; /* of n */
	unsigned n;
	pthread_t threads[HELPERS_MAX];
};

int server_init(struct server *s, struct mnt *m)
{
	struct epoll_event want = {.events = EPOLLIN | EPOLLEXCLUSIVE};

	*s = (struct server){.m = m, .events = epoll_create1(EPOLL_CLOEXEC)};
	if (s->events >= 0 && epoll_ctl(s->events, EPOLL_CTL_ADD,
					fuse_session_fd(m->se), &want) == 0)
		return 0;
	server_fini(s);
	return -1;
}

void server_fini(struct server *s)
{
	reader_close(s->reader);
	free(s->request.mem);
	if (s->events >= 0)
		close(s->events);
}

int server_take(struct server *s)
{
	int got = fuse_session_receive_buf(s->m->se, &s->request);

	if (got > 0)
		return 1;
	return got == -EAGAIN || got == -EINTR ? 0 : -1;
}

bool server_took_read(const struct server *s)
{
	const struct fuse_in_header *in = s->request.mem;

	return in->opcode == FUSE_READ || in->opcode == FUSE_LOOKUP;
}

pid_t server_client(const struct server *s)
{
	const struct fuse_in_header *in = s->request.mem;

	return (pid_t)in->pid;
}

bool server_took_more(const struct server *s)
{
	const struct fuse_in_header *in = s->request.mem;

	return in->nodeid == s->node && in->opcode == s->opcode &&
	       (in->opcode == FUSE_READ || in->opcode == FUSE_WRITE);
}

bool server_took_removal(const struct server *s)
{
	const struct fuse_in_header *in = s->request.mem;

	return in->opcode == FUSE_UNLINK || in->opcode == FUSE_RMDIR;
}

bool server_took_parallel(const struct server *s)
{
	const struct fuse_in_header *in = s->request.mem;

	if (in->pid == 0) /* the kernel itself */
		return false;
	return (pid_t)in->pid != s->client || server_took_more(s);
}

void server_answer(struct server *s)
{
	const struct fuse_in_header *in = s->request.mem;

	if (in->pid) {
		s->client = (pid_t)in->pid;
		s->node = in->nodeid;
		s->opcode = in->opcode;
	}
	if (!s->reads || !s->reader ||
	    !reader_serve(s->reader, s->request.mem, s->request.size))
		mnt_serve_request(s->m, &s->request);
}

bool server_wait(struct server *s, int ms)
{
	struct epoll_event event;

	return epoll_wait(s->events, &event, 1, ms) > 0;
}

/* Serves as long as requests arrive, or, if it never sleeps, until the end.
 * False: the mount has ended. */
static bool serve_requests(struct helpers *h, struct server *s)
{
	while (!h->stop) {
		int got = server_take(s);

		if (got < 0)
			return false;
		if (got > 0) {
			server_answer(s);
		} else if (!server_wait(s, IDLE_MS)) {
			reader_rest(s->reader);
			if (!h->always)
				return true;
		}
	}
	return true;
}

/* False: the mount has ended. */
static bool sleep_until_called(struct helpers *h)
{
	pthread_mutex_lock(&h->lock);
	if (!h->always) {
		h->awake--;
		while (!h->calls && !h->stop)
			pthread_cond_wait(&h->called, &h->lock);
		if (h->calls)
			h->calls--;
		h->awake++;
	}
	pthread_mutex_unlock(&h->lock);
	return !h->stop;
}

static void *help(void *arg)
{
	struct helpers *h = arg;
	struct server s;

	if (server_init(&s, h->m))
		return NULL;
	s.reads = true;
	while (sleep_until_called(h)) {
		if (!s.reader)
			s.reader = reader_open(h->m);
		if (!serve_requests(h, &s))
			break;
	}
	server_fini(&s);
	return NULL;
}

static unsigned how_many(int always)
{
	int cpus = get_nprocs();
	int n = always ? always : cpus > 1 ? cpus - 1 : 1;

	return n < HELPERS_MAX ? (unsigned)n : HELPERS_MAX;
}

struct helpers *helpers_start(struct mnt *m, int always)
{
	struct helpers *h = calloc(1, sizeof *h);
	unsigned n = how_many(always);

	if (!h)
		abort();
	h->m = m;
	h->always = always > 0;
	h->awake = n;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->called, NULL);
	while (h->n < n && thread_start(&h->threads[h->n], 0, help, h) == 0)
		h->n++;
	h->awake -= n - h->n; /* fewer threads are enough */
	return h;
}

void helpers_stop(struct helpers *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_cond_broadcast(&h->called);
	pthread_mutex_unlock(&h->lock);
	for (unsigned i = 0; i < h->n; i++)
		pthread_join(h->threads[i], NULL);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->called);
	free(h);
}

void helpers_wake(struct helpers *h)
{
	if (h->awake == h->n)
		return;
	pthread_mutex_lock(&h->lock);
	if (h->calls + h->awake < h->n)
		h->calls++;
	pthread_cond_signal(&h->called);
	pthread_mutex_unlock(&h->lock);
}

bool helpers_awake(const struct helpers *h)
{
	return h->awake > 0;
}
