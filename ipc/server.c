#include "ipc/server.h"

#include "ipc/server_conn.h"
#include "lib/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG       1024
#define EVENTS        64 /* fetched from the kernel at once */
#define ROUNDS        16 /* of events in one receive without a message */
#define POLL_EVERY    16 /* messages, while some are buffered */
#define ACCEPTS       64 /* per event */
#define PARTIAL_NS    (INT64_C(30) * 1000000000) /* to complete a frame */
#define SLOT_BITS     20
#define SLOT(id)      ((size_t)((id) & ((1u << SLOT_BITS) - 1)))
#define ID_LISTENER   0 /* in epoll; a connection's id is never 0 or 1 */
#define ID_MORE       1
#define FIRST_SERIAL  1
#define SLOTS_AT_ONCE 64

struct ipc_server {
	int epoll;
	int more; /* eventfd: readable while the queue has connections */
	bool more_set;
	int listener;      /* or -1 */
	bool accept_later; /* no descriptor was available */
	struct sockaddr_un address;
	dev_t dev; /* of the socket file, to detect its loss */
	ino_t ino;
	struct ipc_conn **slots;
	size_t slot_count, first_free; /* no slot below it is free */
	uint64_t serial;
	struct ipc_conn *head, **tail; /* queue: may have complete frames */
	int since_poll;
};

/* --- connections ------------------------------------------------------ */

static struct ipc_conn *find_conn(const struct ipc_server *s, uint64_t id)
{
	size_t slot = SLOT(id);
	struct ipc_conn *c = slot < s->slot_count ? s->slots[slot] : NULL;

	return c && c->id == id ? c : NULL;
}

static int watch_fd(struct ipc_server *s, int op, int fd, uint32_t events,
		    uint64_t id)
{
	struct epoll_event ev = {.events = events, .data.u64 = id};

	return epoll_ctl(s->epoll, op, fd, &ev);
}

static size_t take_slot(struct ipc_server *s)
{
	size_t n = s->slot_count;

	for (size_t i = s->first_free; i < n; i++)
		if (!s->slots[i])
			return i;
	s->slots = realloc(s->slots,
			   (n + SLOTS_AT_ONCE) * sizeof(struct ipc_conn *));
	if (!s->slots)
		abort();
	memset(s->slots + n, 0, SLOTS_AT_ONCE * sizeof(struct ipc_conn *));
	s->slot_count = n + SLOTS_AT_ONCE;
	return n;
}

static void enqueue(struct ipc_server *s, struct ipc_conn *c)
{
	if (c->queued)
		return;
	c->queued = true;
	c->next = NULL;
	*s->tail = c;
	s->tail = &c->next;
}

static void dequeue(struct ipc_server *s, struct ipc_conn *c)
{
	struct ipc_conn **at = &s->head;

	if (!c->queued)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	if (s->tail == &c->next)
		s->tail = at;
	c->queued = false;
}

static void close_conn(struct ipc_server *s, struct ipc_conn *c)
{
	size_t slot = SLOT(c->id);

	dequeue(s, c);
	s->slots[slot] = NULL;
	if (slot < s->first_free)
		s->first_free = slot;
	ipc_conn_free(c);
}

static int send_bytes(struct ipc_server *s, struct ipc_conn *c, const void *p,
		      size_t n)
{
	uint32_t events = EPOLLIN;

	if (ipc_conn_write(c, p, n))
		return -1;
	if (c->writing == (c->out.n > 0))
		return 0;
	c->writing = c->out.n > 0;
	if (c->writing)
		events |= EPOLLOUT;
	return watch_fd(s, EPOLL_CTL_MOD, c->fd, events, c->id);
}

static void add_conn(struct ipc_server *s, int fd)
{
	struct ipc_conn *c = ipc_conn_new(fd);
	size_t slot = take_slot(s);

	c->id = s->serial++ << SLOT_BITS | slot;
	s->slots[slot] = c;
	s->first_free = slot + 1;
	if (watch_fd(s, EPOLL_CTL_ADD, fd, EPOLLIN, c->id) ||
	    send_bytes(s, c, sp_rep, SP_GREETING))
		close_conn(s, c);
}

static void accept_conns(struct ipc_server *s)
{
	for (int i = 0; i < ACCEPTS; i++) {
		int fd = accept4(s->listener, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			add_conn(s, fd);
			continue;
		}
		/* Without a free descriptor the event would repeat at once,
		 * endlessly: ipc_server_check resumes. */
		if ((errno == EMFILE || errno == ENFILE) &&
		    !watch_fd(s, EPOLL_CTL_DEL, s->listener, 0, 0))
			s->accept_later = true;
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}

static void serve_conn(struct ipc_server *s, struct ipc_conn *c,
		       uint32_t events)
{
	if ((events & EPOLLOUT) && send_bytes(s, c, "", 0)) {
		close_conn(s, c);
		return;
	}
	if (!(events & ~(uint32_t)EPOLLOUT) || c->queued)
		return; /* a queued one is read when its frames are taken */
	if (ipc_conn_read(c))
		close_conn(s, c);
	else if (ipc_conn_has_frame(c))
		enqueue(s, c);
	else if (c->ended)
		close_conn(s, c);
}

/* Number of events. */
static int poll_events(struct ipc_server *s)
{
	struct epoll_event got[EVENTS];
	int n = epoll_wait(s->epoll, got, EVENTS, 0);

	s->since_poll = 0;
	for (int i = 0; i < n; i++) {
		struct ipc_conn *c = find_conn(s, got[i].data.u64);

		if (got[i].data.u64 == ID_LISTENER)
			accept_conns(s);
		else if (c)
			serve_conn(s, c, got[i].events);
	}
	return n;
}

/* --- the socket ------------------------------------------------------- */

/* Whether a process listens there; a socket file without one is deleted. */
static int remove_stale(struct ipc_server *s, struct err *e)
{
	const struct sockaddr *to = (const struct sockaddr *)&s->address;
	const char *path = s->address.sun_path;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc, cause;

	if (fd < 0)
		return err_errno_set(e, "socket for workers");
	rc = connect(fd, to, sizeof s->address);
	cause = errno;
	close(fd);
	if (rc == 0 || cause == EAGAIN)
		return err_set(e, ERR_CONFLICT,
			       "another process is listening on %s", path);
	if (cause == ECONNREFUSED && unlink(path) && errno != ENOENT)
		return err_errno_set(e, "%s", path);
	return 0;
}

static int bind_listener(struct ipc_server *s, int fd, struct err *e)
{
	const struct sockaddr *at = (const struct sockaddr *)&s->address;
	const char *path = s->address.sun_path;
	struct stat st;

	if (bind(fd, at, sizeof s->address) || chmod(path, 0600) ||
	    lstat(path, &st) || listen(fd, BACKLOG))
		return err_errno_set(e, "%s", path);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

static int listen_on(struct ipc_server *s, struct err *e)
{
	int fd;

	if (remove_stale(s, e))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_errno_set(e, "socket for workers");
	if (bind_listener(s, fd, e)) {
		close(fd);
		return -1;
	}
	if (watch_fd(s, EPOLL_CTL_ADD, fd, EPOLLIN, ID_LISTENER)) {
		err_errno_set(e, "epoll");
		close(fd);
		return -1;
	}
	s->listener = fd;
	s->accept_later = false;
	return 0;
}

static bool name_is_ours(const struct ipc_server *s)
{
	struct stat st;

	return lstat(s->address.sun_path, &st) == 0 && st.st_dev == s->dev &&
	       st.st_ino == s->ino;
}

static void stop_listening(struct ipc_server *s)
{
	if (s->listener < 0)
		return;
	if (name_is_ours(s))
		(void)unlink(s->address.sun_path);
	close(s->listener);
	s->listener = -1;
}

static int set_up_sockets(struct ipc_server *s, struct err *e)
{
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->more = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->epoll < 0 || s->more < 0 ||
	    watch_fd(s, EPOLL_CTL_ADD, s->more, EPOLLIN, ID_MORE))
		return err_errno_set(e, "socket for workers");
	return listen_on(s, e);
}

int ipc_server_open(struct ipc_server **out, const char *path, struct err *e)
{
	struct ipc_server *s;
	size_t n = strlen(path);

	if (n >= sizeof s->address.sun_path)
		return err_set(e, ERR_CONFIG,
			       "the path of the workers' socket has %zu bytes "
			       "and may have %zu; choose a shorter home: %s",
			       n, sizeof s->address.sun_path - 1, path);
	s = calloc(1, sizeof *s);
	if (!s)
		abort();
	s->address.sun_family = AF_UNIX;
	memcpy(s->address.sun_path, path, n + 1);
	s->listener = -1;
	s->serial = FIRST_SERIAL;
	s->tail = &s->head;
	if (set_up_sockets(s, e)) {
		ipc_server_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

void ipc_server_close(struct ipc_server *s)
{
	if (!s)
		return;
	stop_listening(s);
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i])
			close_conn(s, s->slots[i]);
	free(s->slots);
	if (s->more >= 0)
		close(s->more);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

int ipc_server_fd(const struct ipc_server *s)
{
	return s->epoll;
}

/* --- messages --------------------------------------------------------- */

/* The caller may take fewer messages than are buffered: the descriptor must
 * stay readable for them. */
static void signal_more(struct ipc_server *s)
{
	bool want = s->head != NULL;
	eventfd_t count;

	if (want == s->more_set)
		return;
	s->more_set = want;
	if (want)
		(void)eventfd_write(s->more, 1);
	else
		(void)eventfd_read(s->more, &count);
}

/* 1, 0 if the connection had no complete frame, -1 for an invalid one. */
static int take_frame(struct ipc_server *s, struct ipc_conn *c, struct arena *a,
		      struct ipc_from *from, struct msg *m, struct err *e)
{
	struct sp_frame f;
	int rc = ipc_conn_frame(c, &f, e);

	*from = (struct ipc_from){.pipe = c->id};
	if (rc > 0) {
		from->request = f.request;
		if (msg_decode(f.p, f.n, SIDE_WORKER, a, m, e))
			rc = -1;
		ipc_conn_took(c, &f);
		if (ipc_conn_has_frame(c))
			enqueue(s, c);
		else if (c->ended)
			close_conn(s, c);
	} else if (rc < 0 || c->ended) {
		close_conn(s, c);
	}
	return rc;
}

int ipc_server_receive(struct ipc_server *s, struct arena *a,
		       struct ipc_from *from, struct msg *m, struct err *e)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < ROUNDS; i++) {
		struct ipc_conn *c;

		if (!s->head || s->since_poll++ >= POLL_EVERY)
			(void)poll_events(s);
		c = s->head;
		if (!c)
			break;
		dequeue(s, c);
		rc = take_frame(s, c, a, from, m, e);
	}
	signal_more(s);
	return rc;
}

int ipc_server_answer(struct ipc_server *s, struct ipc_from to,
		      const struct msg *m, struct err *e)
{
	struct ipc_conn *c = find_conn(s, to.pipe);
	struct buf text = BUF_MAX(MSG_MAX_BYTES);
	struct buf frame = BUF_MAX(MSG_MAX_BYTES + SP_OVERHEAD);
	int rc;

	assert(msg_side(m->type) == SIDE_SUPERVISOR &&
	       msg_kind(m->type) != MSG_IS_START);
	rc = msg_encode(m, &text, e);
	if (rc == 0 && c) {
		sp_put(&frame, to.request, text.p, text.n);
		if (send_bytes(s, c, frame.p, frame.n)) {
			bool unread = c->out.n > 0;

			close_conn(s, c);
			if (unread)
				rc = err_set(e, ERR_BUSY,
					     "the worker does not read its "
					     "messages");
		}
	}
	buf_fini(&text);
	buf_fini(&frame);
	return rc;
}

void ipc_server_drop(struct ipc_server *s, struct ipc_from whose)
{
	struct ipc_conn *c = find_conn(s, whose.pipe);

	if (c)
		close_conn(s, c);
}

int ipc_server_peer(const struct ipc_server *s, struct ipc_from whose,
		    struct ipc_peer *out)
{
	const struct ipc_conn *c = find_conn(s, whose.pipe);
	struct ucred who;
	socklen_t n = sizeof who;

	if (!c || getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &who, &n))
		return -1;
	*out = (struct ipc_peer){.pid = who.pid, .uid = who.uid};
	return 0;
}

/* --- upkeep ----------------------------------------------------------- */

static void close_stalled(struct ipc_server *s)
{
	int64_t now = clock_mono_ns();

	for (size_t i = 0; i < s->slot_count; i++) {
		struct ipc_conn *c = s->slots[i];

		if (c && c->partial_since &&
		    now - c->partial_since > PARTIAL_NS)
			close_conn(s, c);
	}
}

int ipc_server_check(struct ipc_server *s, struct err *e)
{
	close_stalled(s);
	if (s->accept_later &&
	    !watch_fd(s, EPOLL_CTL_ADD, s->listener, EPOLLIN, ID_LISTENER))
		s->accept_later = false;
	if (s->listener >= 0 && name_is_ours(s))
		return 0;
	stop_listening(s);
	return listen_on(s, e) ? -1 : 1;
}
