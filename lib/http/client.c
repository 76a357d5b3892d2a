#include "lib/http/client.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/backoff.h"
#include "lib/json/json.h"

#define ANSWER_MAX   ((size_t)256 << 20)
#define HEAD_MAX     ((size_t)64 << 10)
#define EVENT_MAX    ((size_t)64 << 20)
#define CONNECT_S    5
#define POLL_MS      200 /* interval between calls of quit */
#define RETRY_MS_MIN 50
#define RETRY_MS_MAX 2000

struct http_client {
	int fd; /* -1: not connected */
	bool used;
	char *base_url;
	char *unix_path;
	char *token;
	struct buf in; /* bytes that were read and not consumed yet */
	size_t at;
	struct buf answer;
};

/* The result of an exchange. */
enum went { WENT_WELL, WENT_WRONG, WENT_NOWHERE, WENT_STOPPED };

/* One exchange: the sink for its body, and the parsed head. */
struct exchange {
	struct http_client *c;
	int (*sink)(struct exchange *x, const char *p, size_t n);
	void *arg;
	http_client_quit *quit;
	void *quit_arg;
	int status;
	int64_t length; /* -1: not given */
	bool chunked, close;
	struct err *e;
};

struct follow {
	const struct http_follow *want;
	struct sse_parser parser;
	bool got_bytes;
	int status;
	int rc; /* result of on_event, or -1 */
	struct err *e;
};

static char *copy_text(const char *text)
{
	return text ? strdup(text) : NULL;
}

int http_client_open(struct http_client **out, const struct http_target *t,
		     struct err *e)
{
	struct http_client *c = calloc(1, sizeof *c);

	(void)e;
	if (!c)
		abort();
	c->fd = -1;
	c->base_url = copy_text(t->base_url ? t->base_url : "http://localhost");
	c->unix_path = copy_text(t->unix_path);
	c->token = copy_text(t->token);
	buf_init(&c->in, HEAD_MAX + 65536);
	buf_init(&c->answer, ANSWER_MAX);
	*out = c;
	return 0;
}

static void hang_up(struct http_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->used = false;
	buf_clear(&c->in);
	c->at = 0;
}

void http_client_close(struct http_client *c)
{
	if (!c)
		return;
	hang_up(c);
	buf_fini(&c->in);
	buf_fini(&c->answer);
	free(c->base_url);
	free(c->unix_path);
	free(c->token);
	free(c);
}

/* --- connecting ---------------------------------------------------------- */

static int dial_unix(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof at.sun_path) {
		errno = ENAMETOOLONG;
	} else if (fd >= 0) {
		memcpy(at.sun_path, path, strlen(path) + 1);
		if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
			return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int dial_tcp(const char *url)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
	struct timeval most = {CONNECT_S, 0}, none = {0, 0};
	const char *name = strncmp(url, "http://", 7) == 0 ? url + 7 : url;
	char host[256];
	char *port;
	int fd = -1;

	snprintf(host, sizeof host, "%.*s", (int)strcspn(name, "/"), name);
	port = strrchr(host, ':');
	if (port && !strchr(port, ']'))
		*port++ = '\0';
	else
		port = NULL;
	if (getaddrinfo(host, port ? port : "80", &hints, &list))
		return -1;
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
		if (connect(fd, a->ai_addr, a->ai_addrlen)) {
			close(fd);
			fd = -1;
			continue;
		}
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
	}
	freeaddrinfo(list);
	return fd;
}

static int dial(struct http_client *c)
{
	if (c->fd < 0)
		c->fd = c->unix_path ? dial_unix(c->unix_path)
				     : dial_tcp(c->base_url);
	return c->fd < 0 ? -1 : 0;
}

/* --- bytes ---------------------------------------------------------------- */

static int send_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = send(fd, p, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Waits and reads. Returns the number of bytes, 0 at the end, -1, or -2 if the
 * caller requested a stop. */
static ssize_t receive(struct exchange *x)
{
	struct http_client *c = x->c;
	struct pollfd p = {.fd = c->fd, .events = POLLIN};
	char chunk[65536];
	ssize_t n;

	for (;;) {
		int ready = poll(&p, 1, x->quit ? POLL_MS : -1);

		if (x->quit && x->quit(x->quit_arg))
			return -2;
		if (ready > 0)
			break;
		if (ready < 0 && errno != EINTR)
			return -1;
	}
	n = recv(c->fd, chunk, sizeof chunk, 0);
	if (n > 0) {
		if (c->at == c->in.n) {
			buf_clear(&c->in);
			c->at = 0;
		}
		if (buf_add(&c->in, chunk, (size_t)n))
			return -1;
	}
	return n;
}

static enum went no_more(ssize_t n)
{
	return n == -2 ? WENT_STOPPED : WENT_WRONG;
}

/* A line without its end, valid until the next read; NULL: *went has the
 * reason. */
static char *take_line(struct exchange *x, enum went *went)
{
	struct http_client *c = x->c;

	for (;;) {
		char *start = c->in.n > c->at ? c->in.p + c->at : NULL;
		char *end = start ? memchr(start, '\n', c->in.n - c->at) : NULL;
		ssize_t n;

		if (end) {
			c->at = (size_t)(end + 1 - c->in.p);
			*end = '\0';
			if (end > start && end[-1] == '\r')
				end[-1] = '\0';
			return start;
		}
		if (c->at > 0) { /* the rest moves to the front */
			memmove(c->in.p, c->in.p + c->at, c->in.n - c->at);
			c->in.n -= c->at;
			c->at = 0;
		}
		n = c->in.n < HEAD_MAX ? receive(x) : -1;
		if (n <= 0) {
			*went = no_more(n);
			return NULL;
		}
	}
}

/* Passes `length` bytes of the body to the sink; -1: all until the end. */
static enum went take_bytes(struct exchange *x, int64_t length)
{
	struct http_client *c = x->c;

	while (length != 0) {
		size_t n = c->in.n - c->at;
		ssize_t got;

		if (length > 0 && (int64_t)n > length)
			n = (size_t)length;
		if (n > 0) {
			if (x->sink(x, c->in.p + c->at, n))
				return WENT_STOPPED;
			c->at += n;
			length -= length > 0 ? (int64_t)n : 0;
			continue;
		}
		got = receive(x);
		if (got == 0 && length < 0)
			return WENT_WELL;
		if (got <= 0)
			return no_more(got);
	}
	return WENT_WELL;
}

/* --- one exchange --------------------------------------------------------- */

static void read_header(struct exchange *x, char *line)
{
	char *value = strchr(line, ':');

	if (!value)
		return;
	*value++ = '\0';
	value += strspn(value, " \t");
	if (!strcasecmp(line, "Content-Length"))
		x->length = strtoll(value, NULL, 10);
	else if (!strcasecmp(line, "Transfer-Encoding"))
		x->chunked = !strcasecmp(value, "chunked");
	else if (!strcasecmp(line, "Connection"))
		x->close = !strcasecmp(value, "close");
}

static enum went take_head(struct exchange *x)
{
	enum went went = WENT_WELL;
	char *line = take_line(x, &went);

	if (!line)
		return went;
	if (strncmp(line, "HTTP/1.", 7) != 0 || strlen(line) < 12)
		return WENT_WRONG;
	x->close = line[7] == '0';
	x->status = (int)strtol(line + 9, NULL, 10);
	while ((line = take_line(x, &went)) && *line)
		read_header(x, line);
	return line ? WENT_WELL : went;
}

static enum went take_chunks(struct exchange *x)
{
	enum went went = WENT_WELL;
	int64_t size = 1;

	while (size > 0 && went == WENT_WELL) {
		char *line = take_line(x, &went), *end;

		if (!line)
			return went;
		size = strtoll(line, &end, 16);
		if (end == line || size < 0)
			return WENT_WRONG;
		went = take_bytes(x, size);
		if (went == WENT_WELL && !take_line(x, &went))
			return went;
	}
	return went;
}

static enum went take_reply(struct exchange *x)
{
	enum went went = take_head(x);

	if (went != WENT_WELL)
		return went;
	if (x->chunked)
		went = take_chunks(x);
	else if (x->status != 204 && x->status != 304)
		went = take_bytes(x, x->length);
	if (went != WENT_WELL || x->close || (!x->chunked && x->length < 0))
		hang_up(x->c);
	return went;
}

/* The head of a request up to its own headers. */
static void begin_request(struct http_client *c, struct buf *b,
			  const char *method, const char *path,
			  const char *accept)
{
	const char *host = strncmp(c->base_url, "http://", 7) == 0
				   ? c->base_url + 7
				   : c->base_url;

	buf_addf(b, "%s %s HTTP/1.1\r\nHost: %.*s\r\nAccept: %s\r\n", method,
		 path, (int)strcspn(host, "/"), host, accept);
	if (c->token)
		buf_addf(b, "Authorization: Bearer %s\r\n", c->token);
}

/* Sends and reads. If the server has closed a kept connection meanwhile,
 * connects again. */
static enum went exchange(struct exchange *x, const struct buf *request)
{
	struct http_client *c = x->c;
	enum went went;

	for (;;) {
		bool kept = c->fd >= 0 && c->used;

		if (dial(c))
			return WENT_NOWHERE;
		c->used = true;
		x->status = 0;
		x->length = -1;
		x->chunked = x->close = false;
		went = send_all(c->fd, request->p, request->n) ? WENT_WRONG
							       : take_reply(x);
		if (went != WENT_WELL)
			hang_up(c);
		if (went != WENT_WRONG || !kept || x->status)
			return went;
	}
}

static int exchange_failed(const struct http_client *c, enum went went,
			   struct err *e)
{
	if (went == WENT_NOWHERE)
		return err_set(e, ERR_UNAVAILABLE,
			       "the supervisor does not answer on %s; "
			       "\"skep up\" starts it",
			       c->unix_path ? c->unix_path : c->base_url);
	return err_set(e, ERR_UNAVAILABLE,
		       "the supervisor closed the connection before "
		       "the response was complete");
}

/* The error of the server, as far as the response contains it. */
static int answer_failed(long status, const char *text, size_t n, struct err *e)
{
	struct err ignored;
	cJSON *problem = json_parse_object("answer", text, n, &ignored);
	const char *code = problem ? json_text(problem, "code", NULL) : NULL;

	if (code)
		err_set(e, err_from_name(code), "%s",
			json_text(problem, "detail", "no reason was given"));
	else
		err_set(e, ERR_PROTOCOL, "the server responded with status %ld",
			status);
	cJSON_Delete(problem);
	return -1;
}

static int keep_answer(struct exchange *x, const char *p, size_t n)
{
	return buf_add(&x->c->answer, p, n);
}

int http_client_call(struct http_client *c, const char *method,
		     const char *path, const char *body, struct buf *answer,
		     struct err *e)
{
	struct exchange x = {.c = c, .sink = keep_answer, .e = e};
	struct buf request = BUF_MAX(ANSWER_MAX);
	enum went went;

	begin_request(c, &request, method, path, "*/*");
	if (body)
		buf_addf(&request,
			 "Content-Type: application/json\r\nContent-Length: "
			 "%zu\r\n",
			 strlen(body));
	buf_adds(&request, "\r\n");
	if (body)
		buf_adds(&request, body);
	buf_clear(&c->answer);
	went = exchange(&x, &request);
	buf_fini(&request);
	if (went != WENT_WELL)
		return exchange_failed(c, went, e);
	if (x.status >= 400)
		return answer_failed(x.status, c->answer.p, c->answer.n, e);
	if (answer && buf_add(answer, c->answer.p, c->answer.n))
		return buf_ok(answer, "the answer", e);
	return x.status;
}

/* --- event streams --------------------------------------------------------- */

static int take_events(struct exchange *x, const char *p, size_t n)
{
	struct follow *f = x->arg;

	if (x->status != 200)
		return keep_answer(x, p, n);
	f->got_bytes = true;
	f->rc = sse_parse(&f->parser, p, n, f->want->on_event, f->want->arg,
			  f->e);
	return f->rc;
}

static enum went connect_once(struct http_client *c, struct follow *f)
{
	struct exchange x = {.c = c,
			     .sink = take_events,
			     .arg = f,
			     .quit = f->want->quit,
			     .quit_arg = f->want->arg,
			     .e = f->e};
	struct buf request = BUF_MAX(64 << 10);
	enum went went;

	begin_request(c, &request, "GET", f->want->path, "text/event-stream");
	if (f->parser.id.n)
		buf_addf(&request, "Last-Event-ID: %s\r\n", f->parser.id.p);
	buf_adds(&request, "\r\n");
	buf_clear(&c->answer);
	sse_parser_restart(&f->parser);
	f->got_bytes = false;
	went = exchange(&x, &request);
	f->status = x.status;
	buf_fini(&request);
	return went;
}

static void wait_ms(int64_t ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

/* True if there is an error to report and retrying is pointless. */
static bool settled(struct http_client *c, struct follow *f, enum went went,
		    int *out)
{
	*out = f->rc;
	if (f->rc || went == WENT_STOPPED)
		return true;
	if (went == WENT_WELL && f->status < 400)
		return true;
	if (f->status >= 400 && f->status != 503) {
		*out = answer_failed(f->status, c->answer.p, c->answer.n, f->e);
		return true;
	}
	if (f->want->once) {
		*out = exchange_failed(c, went, f->e);
		return true;
	}
	return f->want->quit && f->want->quit(f->want->arg);
}

int http_client_follow(struct http_client *c, const struct http_follow *want,
		       struct err *e)
{
	struct follow f = {.want = want, .e = e};
	int failures = 0, out;

	sse_parser_init(&f.parser, EVENT_MAX);
	if (want->last_id)
		buf_adds(&f.parser.id, want->last_id);
	while (!settled(c, &f, connect_once(c, &f), &out)) {
		failures = f.got_bytes ? 1 : failures + 1;
		wait_ms(backoff_next(failures, RETRY_MS_MIN, RETRY_MS_MAX));
	}
	sse_parser_fini(&f.parser);
	return out;
}
