#include "supervisor/process/spawner.h"

#include "lib/base/log.h"
#include "lib/os/proc.h"
#include "lib/os/program_path.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct queued_request { /* a request that does not fit into the socket yet */
	struct spawn_request req;
	int fds[SPAWN_PASSED];
	int nfds;
	struct queued_request *next;
};

static void free_queued(struct queued_request *w)
{
	for (int i = 0; i < w->nfds; i++)
		close(w->fds[i]);
	free(w);
}

/* bytes after "=", which the spawner overwrites with the id of the process */
#define MARKER_ID_BYTES 47
static char marker_variable[] = SPAWN_MARKER
	"=...............................................";

/* The environment with a marker that is long enough for any id. */
static char **marked_env(void)
{
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 2, sizeof *env);
	if (!env)
		abort();
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], SPAWN_MARKER "=",
			    sizeof SPAWN_MARKER) != 0)
			env[k++] = environ[i];
	env[k] = marker_variable;
	return env;
}

static int run_spawner(int fd, pid_t *pid, struct err *e)
{
	struct program_path path = program_path(SPAWN_PROGRAM);
	char room[] = SPAWN_TITLE, **env = marked_env();
	char *argv[] = {path.text, room, NULL};
	posix_spawn_file_actions_t actions;
	int rc;

	static_assert(sizeof marker_variable ==
			      sizeof SPAWN_MARKER + 1 + MARKER_ID_BYTES,
		      "the marker has room for a run's id");
	static_assert(MARKER_ID_BYTES == SPAWN_RUN - 1,
		      "as much as the wire has");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, SPAWN_FD);
	rc = posix_spawn(pid, path.text, &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	free(env);
	errno = rc;
	return rc ? err_errno_set(e, "cannot start %s", path.text) : 0;
}

/* --- reports ------------------------------------------------------------- */

/* Returns 1 for a packet, 0 if there is none, -1 at the end. */
static int receive_event(int sock, struct spawn_event *t, int *fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {t, sizeof *t};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof control};
	struct cmsghdr *c;
	ssize_t n;

	*fd = -1;
	n = recvmsg(sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != (ssize_t)sizeof *t)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof *fd);
	t->run[SPAWN_RUN - 1] = '\0';
	return 1;
}

static void free_handle(uv_handle_t *h)
{
	free(h);
}

static void drop_socket(struct spawn *s)
{
	uv_poll_stop(s->poll);
	uv_close((uv_handle_t *)s->poll, free_handle);
	close(s->fd);
	s->fd = -1;
	if (s->pid > 0) {
		kill(s->pid, SIGKILL); /* our child, not reaped yet */
		waitpid(s->pid, NULL, 0);
	}
	s->pid = 0;
}

static int start_spawner(struct spawn *s, struct err *e);

static void drop_queued(struct spawn *s)
{
	while (s->first) {
		struct queued_request *w = s->first;

		s->first = w->next;
		free_queued(w);
	}
	s->end = &s->first;
}

void spawn_restart(struct spawn *s)
{
	struct err e;

	drop_queued(s);
	if (s->fd >= 0)
		drop_socket(s);
	log_warn(LT("msg", "spawner ended, starting another"));
	if (start_spawner(s, &e))
		log_error(LT("msg", "cannot start the spawner"),
			  LT("error", e.text));
	s->calls.lost(s->calls.arg);
}

static void flush(struct spawn *s);

static void on_poll(uv_poll_t *h, int status, int events)
{
	struct spawn *s = h->data;
	struct spawn_event t;
	int fd, got = 1;

	while (status == 0 && (events & UV_READABLE) && got == 1) {
		got = receive_event(s->fd, &t, &fd);
		if (got == 1)
			s->calls.on_event(s->calls.arg, &t, fd);
	}
	if (got < 0 || status)
		spawn_restart(s);
	else if (events & UV_WRITABLE)
		flush(s);
}

/* --- requests ------------------------------------------------------------ */

/* False if the socket is full. */
static bool send_request(int sock, const struct queued_request *w)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(SPAWN_PASSED * sizeof(int))];
	} control = {.room = {0}};
	size_t n = (size_t)w->nfds * sizeof(int);
	struct spawn_request copy = w->req;
	struct iovec iov = {&copy, sizeof copy};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = CMSG_SPACE(n)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n);
	memcpy(CMSG_DATA(c), w->fds, n);
	return sendmsg(sock, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	       (errno != EAGAIN && errno != EINTR && errno != ENOBUFS);
}

static void flush(struct spawn *s)
{
	while (s->fd >= 0 && s->first && send_request(s->fd, s->first)) {
		struct queued_request *w = s->first;

		s->first = w->next;
		if (!s->first)
			s->end = &s->first;
		free_queued(w);
	}
	if (s->fd >= 0)
		uv_poll_start(s->poll,
			      UV_READABLE | (s->first ? UV_WRITABLE : 0),
			      on_poll);
}

void spawn_send(struct spawn *s, const struct spawn_request *req,
		const int *fds, int n)
{
	struct queued_request *w = calloc(1, sizeof *w);
	bool waiting = s->first != NULL;

	if (!w)
		abort();
	w->req = *req;
	for (int i = 0; i < n; i++)
		if (fds[i] >= 0)
			w->fds[w->nfds++] = fds[i];
	*s->end = w;
	s->end = &w->next;
	if (!waiting)
		flush(s);
}

static int start_spawner(struct spawn *s, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_errno_set(e,
				     "cannot create a socket for the spawner");
	if (run_spawner(pair[1], &s->pid, e)) {
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	close(pair[1]);
	s->fd = pair[0];
	s->poll = calloc(1, sizeof *s->poll);
	if (!s->poll)
		abort();
	uv_poll_init(s->loop, s->poll, s->fd);
	s->poll->data = s;
	flush(s);
	return 0;
}

int spawn_open(struct spawn *s, uv_loop_t *loop, struct spawn_calls calls,
	       struct err *e)
{
	*s = (struct spawn){.loop = loop, .calls = calls, .fd = -1};
	s->end = &s->first;
	return start_spawner(s, e);
}

void spawn_close(struct spawn *s)
{
	drop_queued(s);
	if (s->fd >= 0)
		drop_socket(s);
}
