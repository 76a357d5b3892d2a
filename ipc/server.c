#include "ipc/server.h"

#include "base/clock.h"
#include "base/id.h"
#include "ipc/sp.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/transport/ipc/ipc.h>

#define RECEIVE_MAX   (256u << 10) /* the largest thing a worker may say */
#define SEND_QUEUE    4096
#define RECEIVE_QUEUE 256
#define PATIENCE_NS   1000000000 /* a listener that lives answers in 1 ms */
#define PATIENCE      4 /* checks: the loop must have had its chance to receive */

struct ipc_server {
	nng_socket socket;
	nng_listener listener;
	int fd;
	struct sockaddr_un address;
	int probe; /* a connection to ourselves, or -1 */
	unsigned char probe_word[16];
	int64_t silent_since; /* first probe without an answer; 0: all is well */
	int silent;           /* checks since then */
};

static enum err_code code_of(int rc)
{
	switch (rc) {
	case NNG_EADDRINUSE:
		return ERR_CONFLICT;
	case NNG_EPERM:
		return ERR_DENIED;
	case NNG_ENOENT:
		return ERR_NOTFOUND;
	case NNG_EAGAIN:
		return ERR_BUSY;
	default:
		return ERR_IO;
	}
}

static int fail(struct err *e, int rc, const char *doing)
{
	return err_set(e, code_of(rc), "%s: %s", doing, nng_strerror(rc));
}

static int listen_on(struct ipc_server *s, struct err *e)
{
	char url[sizeof s->address.sun_path + 8];
	int rc;

	(void)snprintf(url, sizeof url, "ipc://%s", s->address.sun_path);
	rc = nng_listener_create(&s->listener, s->socket, url);
	if (rc)
		return fail(e, rc, url);
	rc = nng_listener_set_int(s->listener, NNG_OPT_IPC_PERMISSIONS, 0600);
	if (rc == 0)
		rc = nng_listener_start(s->listener, 0);
	if (rc) {
		nng_listener_close(s->listener);
		return fail(e, rc, url);
	}
	return 0;
}

static int set_up(struct ipc_server *s, struct err *e)
{
	int rc = nng_rep0_open_raw(&s->socket);

	if (rc)
		return fail(e, rc, "socket for workers");
	rc = nng_socket_set_int(s->socket, NNG_OPT_SENDBUF, SEND_QUEUE);
	if (rc == 0)
		rc = nng_socket_set_int(s->socket, NNG_OPT_RECVBUF,
					RECEIVE_QUEUE);
	if (rc == 0)
		rc = nng_socket_set_size(s->socket, NNG_OPT_RECVMAXSZ,
					 RECEIVE_MAX);
	if (rc == 0)
		rc = nng_socket_get_int(s->socket, NNG_OPT_RECVFD, &s->fd);
	if (rc)
		fail(e, rc, "socket for workers");
	else
		rc = listen_on(s, e);
	if (rc)
		nng_close(s->socket); /* it has no connections: see close */
	return rc ? -1 : 0;
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
	s->probe = -1;
	id_random(s->probe_word, sizeof s->probe_word);
	if (set_up(s, e)) {
		free(s);
		return -1;
	}
	*out = s;
	return 0;
}

static void end_probe(struct ipc_server *s)
{
	if (s->probe >= 0)
		close(s->probe);
	s->probe = -1;
}

void ipc_server_close(struct ipc_server *s)
{
	if (!s)
		return;
	end_probe(s);
	/* Ends listener and connections. Not nng_close: in nng 1.5.2 it waits
	 * for ever if a connection was closed while its messages had to wait.
	 * What is left are some kilobytes that end with the process. */
	nng_listener_close(s->listener);
	free(s);
}

int ipc_server_fd(const struct ipc_server *s)
{
	return s->fd;
}

/* Our own probe has come all the way round: the listener lives. */
static bool is_probe(struct ipc_server *s, nng_msg *raw)
{
	if (nng_msg_len(raw) != sizeof s->probe_word ||
	    memcmp(nng_msg_body(raw), s->probe_word, sizeof s->probe_word) != 0)
		return false;
	end_probe(s);
	s->silent_since = 0;
	return true;
}

static int decode(nng_msg *raw, struct arena *a, struct ipc_from *from,
		  struct msg *m, struct err *e)
{
	from->pipe = (uint32_t)nng_pipe_id(nng_msg_get_pipe(raw));
	from->request = 0;
	if (nng_msg_header_len(raw) != 2 * sizeof(uint32_t) ||
	    nng_msg_header_trim_u32(raw, &from->pipe) ||
	    nng_msg_header_trim_u32(raw, &from->request))
		return err_set(e, ERR_PROTOCOL, "a request that was forwarded");
	return msg_decode(nng_msg_body(raw), nng_msg_len(raw), SIDE_WORKER, a,
			  m, e);
}

int ipc_server_receive(struct ipc_server *s, struct arena *a,
		       struct ipc_from *from, struct msg *m, struct err *e)
{
	nng_msg *raw;
	int rc;

	while ((rc = nng_recvmsg(s->socket, &raw, NNG_FLAG_NONBLOCK)) == 0 &&
	       is_probe(s, raw))
		nng_msg_free(raw);
	if (rc == NNG_EAGAIN)
		return 0;
	if (rc)
		return fail(e, rc, "receive from a worker");
	rc = decode(raw, a, from, m, e);
	nng_msg_free(raw);
	return rc ? -1 : 1;
}

int ipc_server_answer(struct ipc_server *s, struct ipc_from to,
		      const struct msg *m, struct err *e)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	nng_msg *raw = NULL;
	int rc;

	assert(msg_kind(m->type) == MSG_IS_COMMAND ||
	       msg_kind(m->type) == MSG_IS_REPLY);
	if (msg_encode(m, &b, e)) {
		buf_fini(&b);
		return -1;
	}
	rc = nng_msg_alloc(&raw, 0);
	if (rc == 0)
		rc = nng_msg_header_append_u32(raw, to.pipe);
	if (rc == 0)
		rc = nng_msg_header_append_u32(raw, to.request);
	if (rc == 0)
		rc = nng_msg_append(raw, b.p, b.n);
	if (rc == 0)
		rc = nng_sendmsg(s->socket, raw, NNG_FLAG_NONBLOCK);
	if (rc && raw)
		nng_msg_free(raw);
	buf_fini(&b);
	return rc ? fail(e, rc, "answer to a worker") : 0;
}

void ipc_server_drop(struct ipc_server *s, struct ipc_from whose)
{
	nng_pipe pipe = {.id = whose.pipe};

	(void)s;
	(void)nng_pipe_close(pipe);
}

int ipc_server_peer(const struct ipc_server *s, struct ipc_from whose,
		    struct ipc_peer *out)
{
	nng_pipe pipe = {.id = whose.pipe};
	uint64_t pid, uid;

	(void)s;
	if (nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_PID, &pid) ||
	    nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_UID, &uid))
		return -1;
	*out = (struct ipc_peer){.pid = (pid_t)pid, .uid = (uid_t)uid};
	return 0;
}

/* A request like a worker's, to ourselves. One that cannot even connect, for
 * the queue of the listener is full, stays -1 and is tried again. */
static void start_probe(struct ipc_server *s)
{
	const struct sockaddr *to = (const struct sockaddr *)&s->address;
	struct buf b = BUF_MAX(256);

	buf_add(&b, sp_req, SP_GREETING);
	sp_put(&b, 1, s->probe_word, sizeof s->probe_word);
	s->probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			  0);
	if (s->probe >= 0 &&
	    (connect(s->probe, to, sizeof s->address) ||
	     send(s->probe, b.p, b.n, MSG_NOSIGNAL) != (ssize_t)b.n))
		end_probe(s);
	buf_fini(&b);
}

int ipc_server_check(struct ipc_server *s, struct err *e)
{
	int64_t now = clock_mono_ns();

	if (s->silent_since == 0) {
		s->silent_since = now;
		s->silent = 0;
	}
	if (s->probe < 0)
		start_probe(s);
	if (now - s->silent_since < PATIENCE_NS || s->silent++ < PATIENCE)
		return 0;
	end_probe(s);
	s->silent_since = 0;
	nng_listener_close(s->listener);
	return listen_on(s, e) ? -1 : 1;
}
