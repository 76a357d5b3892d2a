#include "worker/driver/chat/mcp_http.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/sse.h"
#include "worker/driver/chat/curl_poll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NS_PER_MS    1000000
#define ANSWER_MAX   RPC_LINE_MAX
#define RESPONSE_MAX 300
#define ID_MAX       1024
#define GOODBYE_MS   500

struct mcp_http {
	const struct mcp_server *spec;
	CURLM *multi;
	char session[ID_MAX];
	char version[32];
};

struct transfer {
	struct mcp_http *http;
	struct rpc *rpc;
	CURL *easy;
	struct curl_slist *headers;
	struct sse_parser sse;
	struct buf body; /* of an answer that is not streamed */
	bool streams;
	bool failed; /* local failure; see err */
	struct err err;
};

int mcp_http_open(struct mcp_http **out, const struct mcp_server *spec,
		  struct err *e)
{
	struct mcp_http *h = calloc(1, sizeof *h);

	if (!h)
		abort();
	h->spec = spec;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	h->multi = curl_multi_init();
	if (!h->multi) {
		free(h);
		return err_set(e, ERR_INTERNAL, "cannot initialize libcurl");
	}
	*out = h;
	return 0;
}

void mcp_http_close_session(struct mcp_http *h)
{
	h->session[0] = '\0';
	h->version[0] = '\0';
}

void mcp_http_version(struct mcp_http *h, const char *version)
{
	snprintf(h->version, sizeof h->version, "%s", version);
}

/* --- what comes back ------------------------------------------------------ */

static int feed_message(struct transfer *x, const char *p, size_t n)
{
	x->failed = rpc_feed(x->rpc, p, n, &x->err) != 0 ||
		    rpc_feed(x->rpc, "\n", 1, &x->err) != 0;
	return x->failed;
}

/* Line breaks between the tokens of a message are white space in JSON. */
static void join_lines(char *p)
{
	for (; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
}

static int on_mcp_event(void *arg, const struct sse_event *ev)
{
	struct transfer *x = arg;
	struct buf b = BUF_MAX(ANSWER_MAX);
	int rc;

	if (ev->n == 0)
		return 0;
	buf_add(&b, ev->data, ev->n);
	x->failed = buf_ok(&b, "a message", &x->err) != 0;
	if (x->failed)
		return -1;
	join_lines(b.p);
	rc = feed_message(x, b.p, b.n);
	buf_fini(&b);
	return rc;
}

static bool is_ok(const struct transfer *x)
{
	long status = 0;

	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 300;
}

static size_t on_bytes(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *x = arg;

	(void)size;
	if (x->streams && is_ok(x)) {
		if (sse_parse(&x->sse, p, n, on_mcp_event, x, &x->err))
			x->failed = true;
	} else if (buf_add(&x->body, p, n)) {
		x->failed = err_set(&x->err, ERR_TOOBIG,
				    "its response is longer than %u bytes",
				    ANSWER_MAX) != 0;
	}
	return x->failed ? 0 : n;
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
	static const char id[] = "mcp-session-id:";
	struct transfer *x = arg;
	const char *v = p + sizeof id - 1, *end = p + n;

	(void)size;
	if (n >= 13 && strncasecmp(p, "content-type:", 13) == 0)
		x->streams = memmem(p, n, "text/event-stream", 17) != NULL;
	if (n < sizeof id || strncasecmp(p, id, sizeof id - 1) != 0)
		return n;
	while (v < end && strchr(" \t", *v))
		v++;
	while (end > v && strchr(" \t\r\n", end[-1]))
		end--;
	if (end - v < ID_MAX) {
		snprintf(x->http->session, ID_MAX, "%.*s", (int)(end - v), v);
		return n;
	}
	x->failed = true;
	err_set(&x->err, ERR_TOOBIG,
		"its Mcp-Session-Id is longer than %d bytes", ID_MAX - 1);
	return 0;
}

/* --- one request ---------------------------------------------------------- */

static void set_headers(struct transfer *x)
{
	const struct mcp_http *h = x->http;
	const struct headers *own = &h->spec->headers;

	curl_add_header(&x->headers, "Content-Type: application/json");
	curl_add_header(&x->headers,
			"Accept: application/json, text/event-stream");
	for (int i = 0; i < own->n; i++)
		curl_add_pair(&x->headers, own->list[i].name, "",
			      own->list[i].value);
	if (h->session[0])
		curl_add_pair(&x->headers, "Mcp-Session-Id", "", h->session);
	if (h->version[0])
		curl_add_pair(&x->headers, "MCP-Protocol-Version", "",
			      h->version);
}

/* body NULL: DELETE. */
static int begin_transfer(struct transfer *x, const char *body, size_t n,
			  struct err *e)
{
	CURL *c = x->easy = curl_easy_init();

	if (!c)
		return err_set(e, ERR_INTERNAL,
			       "cannot create a libcurl handle");
	sse_parser_init(&x->sse, ANSWER_MAX);
	buf_init(&x->body, ANSWER_MAX);
	set_headers(x);
	curl_easy_setopt(c, CURLOPT_URL, x->http->spec->url);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, x->headers);
	if (body) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n);
		curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, body);
	} else {
		curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, "DELETE");
	}
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_USERAGENT, "skep/" SKEP_VERSION);
	curl_multi_add_handle(x->http->multi, c);
	return 0;
}

static void end_transfer(struct transfer *x)
{
	if (!x->easy)
		return;
	curl_multi_remove_handle(x->http->multi, x->easy); /* aborts the
							    * transfer */
	curl_easy_cleanup(x->easy);
	curl_free_headers(x->headers);
	sse_parser_fini(&x->sse);
	buf_fini(&x->body);
}

static int wait_for(struct transfer *x, struct run *r, const bool *done,
		    int64_t until, struct err *e)
{
	CURLcode how = CURLE_OK;

	while (!curl_step(x->http->multi, &how)) {
		int64_t left = (until - clock_mono_ns()) / NS_PER_MS + 1;

		if (*done && x->streams)
			return 0; /* the rest of the stream is ignored */
		if (run_ending(r))
			return err_set(e, ERR_CANCELED, "the run was ended");
		if (left <= 0)
			return err_set(e, ERR_TIMEOUT,
				       "it did not respond in time");
		if (curl_poll(x->http->multi, r, left, e))
			return -1;
	}
	if (x->failed) {
		*e = x->err;
		return -1;
	}
	return how == CURLE_OK ? 0
			       : err_set(e, ERR_UNAVAILABLE, "%s",
					 curl_easy_strerror(how));
}

/* An error response may contain a message: then it is the reply. */
static int classify_reply(struct transfer *x, const bool *done, struct err *e)
{
	char answer[RESPONSE_MAX];
	long status = 0;

	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300 && x->streams)
		return 0;
	if (x->body.n > 0) {
		join_lines(x->body.p);
		if (status != 404 &&
		    x->body.p[strspn(x->body.p, " \t")] == '{' &&
		    feed_message(x, x->body.p, x->body.n)) {
			*e = x->err;
			return -1;
		}
	}
	if (*done || (status >= 200 && status < 300))
		return 0;
	text_fit(answer, sizeof answer, x->body.n ? x->body.p : "");
	headers_hide(answer, &x->http->spec->headers);
	return err_set(e,
		       status == 404 && x->http->session[0] ? ERR_NOTFOUND
							    : ERR_UNAVAILABLE,
		       "it responded with status %ld%s%s", status,
		       answer[0] ? ": " : "", answer);
}

static int post(struct mcp_http *h, struct run *r, struct rpc *rpc,
		const bool *done, int64_t until, struct err *e)
{
	struct transfer x = {.http = h, .rpc = rpc};
	size_t n = (size_t)((char *)memchr(rpc->out->p, '\n', rpc->out->n) -
			    rpc->out->p);
	int rc = begin_transfer(&x, rpc->out->p, n, e);

	buf_drop(rpc->out, n + 1);
	if (rc == 0)
		rc = wait_for(&x, r, done, until, e);
	if (rc == 0)
		rc = classify_reply(&x, done, e);
	end_transfer(&x);
	return rc;
}

int mcp_http_send(struct mcp_http *h, struct run *r, struct rpc *rpc,
		  const bool *done, int64_t until, struct err *e)
{
	while (rpc->out->n > 0)
		if (post(h, r, rpc, done, until, e)) {
			buf_clear(rpc->out);
			return -1;
		}
	return 0;
}

void mcp_http_close(struct mcp_http *h, struct run *r)
{
	int64_t until = clock_mono_ns() + GOODBYE_MS * NS_PER_MS;
	struct transfer x = {.http = h};
	struct err ignored;
	bool done = false;

	if (!h)
		return;
	if (h->session[0] && begin_transfer(&x, NULL, 0, &ignored) == 0)
		(void)wait_for(&x, r, &done, until, &ignored);
	end_transfer(&x);
	curl_multi_cleanup(h->multi);
	free(h);
}
