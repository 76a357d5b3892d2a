#include "worker/run/run_server.h"

#include "ipc/mcp_socket.h"
#include "lib/base/hash.h"
#include "lib/base/id.h"
#include "lib/json/json.h"
#include "worker/run/requests.h"
#include "worker/run/run.h"
#include "worker/workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEERS     16
#define TOKEN_HEX 65

struct run_peer {
	int fd;     /* -1: free */
	bool waits; /* for a result */
	struct buf in, out;
};

struct run_server {
	int listener, events;
	int dir; /* of the agent file */
	char name[RUN_SOCKET_SIZE];
	char token_hash[HASH_HEX];
	struct run_peer peers[PEERS];
};

/* --- open and close --------------------------------------------------- */

static void make_token(struct run_server *s, char out[TOKEN_HEX])
{
	unsigned char raw[32];

	id_random(raw, sizeof raw);
	for (size_t i = 0; i < sizeof raw; i++)
		snprintf(out + 2 * i, 3, "%02x", raw[i]);
	hash_of(out, TOKEN_HEX - 1, s->token_hash);
}

/* The helper program is beside ours; commands find it there. */
static int add_to_path(struct run *r, struct err *e)
{
	const char *path = getenv("PATH");
	char program[PATH_MAX], *dir;

	if (workspace_program(program, e))
		return -1;
	dir = dirname(program);
	r->run_helper = arena_printf(&r->lasting, "%s/skep-run", dir);
	setenv("PATH",
	       arena_printf(&r->lasting, "%s:%s",
			    path && path[0] ? path : "/usr/bin:/bin", dir),
	       1);
	return 0;
}

static int watch(struct run_server *s, int fd, struct run_peer *p)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = p};

	return epoll_ctl(s->events, EPOLL_CTL_ADD, fd, &ev);
}

static int listen_in(struct run *r, struct run_server *s, struct err *e)
{
	char *own = dirname(arena_text(&r->lasting, r->start->agent_db));

	ask_socket_remove_stale(own);
	snprintf(s->name, sizeof s->name, RUN_SOCKET, (int)getpid());
	s->dir = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->dir >= 0) {
		(void)unlinkat(s->dir, s->name, 0); /* of a dead process */
		s->listener = run_socket_listen(s->dir, s->name, PEERS);
	}
	s->events = epoll_create1(EPOLL_CLOEXEC);
	if (s->listener < 0 || s->events < 0 || watch(s, s->listener, NULL))
		return err_errno_set(e, "a socket in %s", own);
	r->run_socket = arena_printf(&r->lasting, "%s/%s", own, s->name);
	return 0;
}

int run_server_open(struct run *r, struct err *e)
{
	struct run_server *s;
	char token[TOKEN_HEX];

	if (r->server)
		return 0;
	s = arena_alloc(&r->lasting, sizeof *s);
	*s = (struct run_server){.listener = -1, .events = -1, .dir = -1};
	for (int i = 0; i < PEERS; i++)
		s->peers[i].fd = -1;
	r->server = s;
	make_token(s, token);
	if (listen_in(r, s, e) || add_to_path(r, e))
		return -1;
	setenv(RUN_SOCKET_ENV, r->run_socket, 1);
	setenv(RUN_TOKEN_ENV, token, 1);
	return 0;
}

static void drop_peer(struct run *r, struct run_peer *p)
{
	request_forget(r, p);
	close(p->fd);
	p->fd = -1;
	p->waits = false;
	buf_fini(&p->in);
	buf_fini(&p->out);
}

void run_server_close(struct run *r)
{
	struct run_server *s = r->server;

	if (!s)
		return;
	r->server = NULL;
	for (int i = 0; i < PEERS; i++)
		if (s->peers[i].fd >= 0)
			drop_peer(r, &s->peers[i]);
	if (s->listener >= 0) {
		close(s->listener);
		(void)unlinkat(s->dir, s->name, 0);
	}
	if (s->events >= 0)
		close(s->events);
	if (s->dir >= 0)
		close(s->dir);
}

int run_server_fd(const struct run *r)
{
	return r->server ? r->server->events : -1;
}

/* --- answers ---------------------------------------------------------- */

/* Sends what the socket takes, and waits until it takes more. */
static void write_peer(struct run *r, struct run_peer *p)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = p};
	ssize_t n = p->out.n ? send(p->fd, p->out.p, p->out.n, MSG_NOSIGNAL)
			     : 0;

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		drop_peer(r, p);
		return;
	}
	if (n > 0)
		buf_drop(&p->out, (size_t)n);
	if (p->out.n)
		ev.events |= EPOLLOUT;
	(void)epoll_ctl(r->server->events, EPOLL_CTL_MOD, p->fd, &ev);
}

static void answer_line(struct run *r, struct run_peer *p, const char *body,
			const char *code, const char *error)
{
	p->waits = false;
	buf_clear(&p->out);
	json_begin_object(&p->out);
	if (error) {
		json_put_text(&p->out, "code", code);
		json_put_text(&p->out, "error", error);
	} else {
		json_put_raw(&p->out, "result", body ? body : "{}");
	}
	json_end_object(&p->out);
	buf_addc(&p->out, '\n');
	write_peer(r, p);
}

static void refuse_line(struct run *r, struct run_peer *p, const struct err *e)
{
	answer_line(r, p, NULL, err_name(e->code), e->text);
}

static void take_lines(struct run *r, struct run_peer *p);

static void on_result(struct run *r, void *arg, const struct msg_result *m)
{
	answer_line(r, arg, m->body, m->code, m->error);
	take_lines(r, arg);
}

/* --- requests --------------------------------------------------------- */

static bool has_token(const struct run_server *s, const cJSON *v)
{
	const char *token = json_text(v, "token", "");
	char hash[HASH_HEX];

	hash_of(token, strlen(token), hash);
	return strcmp(hash, s->token_hash) == 0;
}

static int pass_on(struct run *r, struct run_peer *p, const cJSON *v,
		   struct err *e)
{
	struct buf args = BUF_MAX(RUN_REQUEST_MAX);
	struct run_socket_request q = {.verb = json_text(v, "verb", ""),
				       .key = json_text(v, "key", NULL)};
	int rc = 0;

	if (!has_token(r->server, v))
		return err_set(e, ERR_UNAUTHORIZED,
			       "this is not the token of the run");
	if (strcmp(q.verb, "reserve") == 0)
		return err_set(e, ERR_DENIED,
			       "only the worker reserves calls of a model");
	if (cJSON_IsObject(json_member(v, "args")))
		json_add(&args, json_member(v, "args"));
	else
		buf_adds(&args, "{}");
	q.args = args.p;
	rc = buf_ok(&args, "the request", e);
	if (rc == 0)
		rc = request_begin(r, &q, on_result, p, e);
	p->waits = rc == 0;
	buf_fini(&args);
	return rc;
}

static void take_request_line(struct run *r, struct run_peer *p, size_t n)
{
	struct err e;
	cJSON *v = json_parse_object("the request", p->in.p, n, &e);

	buf_drop(&p->in, n + 1);
	if (!v || pass_on(r, p, v, &e))
		refuse_line(r, p, &e);
	cJSON_Delete(v);
}

/* A peer sends its next request after the result of the previous one. */
static void take_lines(struct run *r, struct run_peer *p)
{
	char *end;

	while (p->fd >= 0 && !p->waits && p->in.n > 0 &&
	       (end = memchr(p->in.p, '\n', p->in.n)))
		take_request_line(r, p, (size_t)(end - p->in.p));
}

static void read_peer(struct run *r, struct run_peer *p)
{
	char *room = buf_room(&p->in, 65536);
	ssize_t n = room ? read(p->fd, room, 65536) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop_peer(r, p);
		return;
	}
	buf_grew(&p->in, (size_t)n);
	take_lines(r, p);
}

/* A connection above the limit is closed. */
static void take_peers(struct run_server *s)
{
	int fd;

	while ((fd = accept4(s->listener, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct run_peer *p = s->peers;

		while (p < s->peers + PEERS && p->fd >= 0)
			p++;
		if (p == s->peers + PEERS || watch(s, fd, p)) {
			close(fd);
			continue;
		}
		*p = (struct run_peer){.fd = fd};
		buf_init(&p->in, RUN_REQUEST_MAX);
		buf_init(&p->out, RUN_RESULT_MAX);
	}
}

void run_server_poll(struct run *r)
{
	struct epoll_event ready[PEERS + 1];
	int n = epoll_wait(r->server->events, ready, PEERS + 1, 0);

	for (int i = 0; i < n; i++) {
		struct run_peer *p = ready[i].data.ptr;

		if (!p)
			take_peers(r->server);
		else if (p->fd >= 0 && (ready[i].events & EPOLLOUT))
			write_peer(r, p);
		if (p && p->fd >= 0 && (ready[i].events & ~(unsigned)EPOLLOUT))
			read_peer(r, p);
	}
}
