#include "worker/driver/acp/mcp_permission.h"

#include "ipc/mcp_socket.h"
#include "ipc/run_socket.h"
#include "lib/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_MAX_BYTES (64u << 10)
#define PEERS          8

struct acp_peer {
	int fd;     /* -1: free */
	int64_t id; /* of this connection, never reused */
	struct buf line;
};

struct acp_mcp {
	int listener;
	int dir; /* of the directory of the agent file */
	char name[ASK_SOCKET_SIZE];
	struct acp_peer peers[PEERS];
	int64_t last; /* id */
};

/* --- the socket --------------------------------------------------------- */

int acp_mcp_open(struct acp *x, struct err *e)
{
	struct run *r = x->run;
	char *own = dirname(arena_text(&r->lasting, r->start->agent_db));
	struct acp_mcp *m = arena_alloc(&r->lasting, sizeof *m);

	*m = (struct acp_mcp){.listener = -1};
	for (int i = 0; i < PEERS; i++)
		m->peers[i].fd = -1;
	x->mcp = m;
	ask_socket_remove_stale(own);
	snprintf(m->name, sizeof m->name, ASK_SOCKET, (int)getpid());
	m->dir = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m->dir >= 0) {
		(void)unlinkat(m->dir, m->name, 0); /* of a dead process */
		m->listener = run_socket_listen(m->dir, m->name, PEERS);
	}
	if (m->listener < 0 || acp_watch(x, m->listener))
		return err_errno_set(e, "a socket in %s", own);
	r->ask_socket = arena_printf(&r->lasting, "%s/%s", own, m->name);
	return 0;
}

static void drop_peer(struct acp_peer *p)
{
	close(p->fd);
	p->fd = -1;
	buf_fini(&p->line);
}

void acp_mcp_close(struct acp *x)
{
	struct acp_mcp *m = x->mcp;

	if (!m)
		return;
	x->mcp = NULL;
	for (int i = 0; i < PEERS; i++)
		if (m->peers[i].fd >= 0)
			drop_peer(&m->peers[i]);
	if (m->listener >= 0) {
		close(m->listener);
		(void)unlinkat(m->dir, m->name, 0);
	}
	if (m->dir >= 0)
		close(m->dir);
}

/* --- questions ----------------------------------------------------------- */

static struct acp_peer *find_peer(struct acp *x, int64_t id)
{
	for (int i = 0; x->mcp && i < PEERS; i++)
		if (x->mcp->peers[i].fd >= 0 && x->mcp->peers[i].id == id)
			return &x->mcp->peers[i];
	return NULL;
}

void acp_mcp_answer(struct acp *x, int64_t peer, bool allow, const char *why)
{
	struct acp_peer *p = find_peer(x, peer);
	struct buf b = BUF_MAX(4096);

	if (!p)
		return;
	json_begin_object(&b);
	json_put_bool(&b, "allow", allow);
	if (!allow && why) {
		json_key(&b, "why");
		json_add_string(&b, why, strnlen(why, 1000));
	}
	json_end_object(&b);
	buf_addc(&b, '\n');
	if (send(p->fd, b.p, b.n, MSG_NOSIGNAL) != (ssize_t)b.n)
		drop_peer(p);
	buf_fini(&b);
}

static int take_line(struct acp *x, struct acp_peer *p, const char *text,
		     size_t n, struct err *e)
{
	struct err ignored;
	cJSON *v = json_parse_object("a question", text, n, &ignored);
	int rc;

	if (!v) {
		drop_peer(p);
		return 0;
	}
	rc = acp_permit_tool(x, p->id, v, e);
	cJSON_Delete(v);
	return rc;
}

static int take_lines(struct acp *x, struct acp_peer *p, struct err *e)
{
	char *end;

	while (p->fd >= 0 && p->line.n > 0 &&
	       (end = memchr(p->line.p, '\n', p->line.n))) {
		size_t n = (size_t)(end - p->line.p);

		if (take_line(x, p, p->line.p, n, e))
			return -1;
		if (p->fd >= 0)
			buf_drop(&p->line, n + 1);
	}
	return 0;
}

static int read_peer(struct acp *x, struct acp_peer *p, struct err *e)
{
	char bytes[8192];
	ssize_t n;

	while (p->fd >= 0 && (n = read(p->fd, bytes, sizeof bytes)) != 0) {
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n < 0 || buf_add(&p->line, bytes, (size_t)n))
			break;
		if (take_lines(x, p, e))
			return -1;
	}
	if (p->fd >= 0)
		drop_peer(p);
	return 0;
}

static struct acp_peer *free_peer(struct acp_mcp *m)
{
	for (int i = 0; i < PEERS; i++)
		if (m->peers[i].fd < 0)
			return &m->peers[i];
	return NULL;
}

/* A connection above the limit is closed. */
static void take_peers(struct acp *x)
{
	struct acp_mcp *m = x->mcp;
	int fd;

	while ((fd = accept4(m->listener, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct acp_peer *p = free_peer(m);

		if (!p || acp_watch(x, fd)) {
			close(fd);
			continue;
		}
		p->fd = fd;
		p->id = ++m->last;
		buf_init(&p->line, LINE_MAX_BYTES);
	}
}

int acp_mcp_poll(struct acp *x, struct err *e)
{
	if (!x->mcp)
		return 0;
	take_peers(x);
	for (int i = 0; i < PEERS; i++)
		if (x->mcp->peers[i].fd >= 0 &&
		    read_peer(x, &x->mcp->peers[i], e))
			return -1;
	return 0;
}
