#include "worker/driver/chat/http.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/sse.h"
#include "worker/driver/chat/curl_poll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_MS   1000000
#define BODY_MAX    (32u << 20) /* of an answer, or of an event of a stream */
#define ERROR_SHOWN 300         /* of a body that is not JSON */
#define WAIT_MAX    300000      /* maximum delay that a server can request */
#define END_MS \
	200 /* for the end of the connection after the end of
			       * the stream */

struct chat_http {
	const struct chat_config *config; /* borrowed */
	CURLM *multi;
	struct curl_slist *headers;
};

/* One request in progress. */
struct transfer {
	struct chat_http *http;
	const struct chat_exchange *exchange;
	CURL *easy;
	struct chat_turn *turn;
	struct sse_parser sse;
	struct buf body; /* for errors, and answers that are not streamed */
	bool streams;    /* from the header, then from the first bytes */
	bool known;      /* the first bytes were seen */
	int64_t wait_ms;
	int64_t began, last; /* clock_mono_ns */
	struct err err;
	bool failed; /* local failure; see err */
};

static int on_chat_event(void *arg, const struct sse_event *ev)
{
	struct transfer *x = arg;

	return chat_turn_data(x->turn, ev->data, ev->n, &x->err);
}

/* Some proxies and servers send a stream with another content type, or a
 * complete answer with that of a stream: the first bytes decide. False: too few
 * bytes so far. */
static bool recognise(struct transfer *x)
{
	static const char *const starts[] = {
		"data:", "event:", "id:", "retry:", ":"};
	const char *p = x->body.p;
	size_t n = x->body.n;

	if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	p += strspn(p, " \t\r\n");
	n -= (size_t)(p - x->body.p);
	if (n == 0)
		return false;
	if (*p == '{' || *p == '[')
		x->streams = false;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
		size_t k = strlen(starts[i]);

		if (n < k && strncmp(p, starts[i], n) == 0)
			return false;
		x->streams |= strncmp(p, starts[i], k) == 0;
	}
	return true;
}

static void feed(struct transfer *x, const char *p, size_t n)
{
	if (x->known && x->streams)
		x->failed = sse_parse(&x->sse, p, n, on_chat_event, x,
				      &x->err) != 0;
	else if (buf_add(&x->body, p, n))
		x->failed = err_set(&x->err, ERR_TOOBIG,
				    "the server's answer is too large") != 0;
}

static size_t on_bytes(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *x = arg;
	long status = 0;

	(void)size;
	x->last = clock_mono_ns();
	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
	feed(x, p, n);
	if (x->failed || status != 200 || x->known || !recognise(x))
		return x->failed ? 0 : n;
	x->known = true;
	if (x->streams)
		feed(x, x->body.p, x->body.n);
	return x->failed ? 0 : n;
}

/* Limits the delay that a server requests to WAIT_MAX. */
static int64_t bounded(double ms)
{
	return ms > WAIT_MAX ? WAIT_MAX : ms > 0 ? (int64_t)ms : 0;
}

/* Seconds, or a date. */
static int64_t wait_of(const char *value)
{
	char *end;
	double s = strtod(value, &end);
	time_t when;

	if (end != value)
		return bounded(s * 1000);
	when = curl_getdate(value, NULL);
	return when > 0 ? bounded(difftime(when, time(NULL)) * 1000) : 0;
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *x = arg;
	char line[512];

	(void)size;
	x->last = clock_mono_ns();
	snprintf(line, sizeof line, "%.*s", (int)(n < 500 ? n : 500), p);
	if (strncasecmp(line, "content-type:", 13) == 0)
		x->streams = strcasestr(line, "event-stream") != NULL;
	else if (strncasecmp(line, "retry-after-ms:", 15) == 0)
		x->wait_ms = bounded(strtod(line + 15, NULL));
	else if (strncasecmp(line, "retry-after:", 12) == 0 && x->wait_ms == 0)
		x->wait_ms = wait_of(line + 12 + strspn(line + 12, " "));
	return n;
}

/* --- waiting ----------------------------------------------------------- */

static int64_t quiet_limit(const struct transfer *x, int64_t *since)
{
	const struct chat_limits *l = &x->http->config->limits;

	*since = x->last ? x->last : x->began;
	if (x->turn->over) /* only so that the connection can be reused */
		return END_MS;
	return x->last ? l->idle_timeout_ms : l->first_byte_ms;
}

static int poll_once(struct transfer *x, struct err *e)
{
	int64_t since, left, limit = quiet_limit(x, &since);

	left = limit - (clock_mono_ns() - since) / NS_PER_MS + 1;
	if (x->exchange->flush &&
	    x->exchange->flush(x->exchange->arg, &left, e))
		return -1;
	return curl_poll(x->http->multi, x->exchange->run, left, e);
}

/* -1: the run ends, or a command failed. */
static int wait_for(struct transfer *x, CURLcode *how, struct err *e)
{
	for (;;) {
		int64_t since, limit;

		if (curl_step(x->http->multi, how))
			return 0;
		if (run_ending(x->exchange->run))
			return err_set(e, ERR_CANCELED,
				       "the request was aborted");
		if (poll_once(x, e))
			return -1;
		limit = quiet_limit(x, &since);
		if (clock_mono_ns() - since < limit * NS_PER_MS)
			continue;
		*how = CURLE_OPERATION_TIMEDOUT;
		return 0;
	}
}

/* --- judging ----------------------------------------------------------- */

static bool is_overflow(const struct chat_turn *t, long status)
{
	static const char *const words[] = {
		"context length",    "context_length",     "maximum context",
		"context window",    "prompt is too long", "too many tokens",
		"input is too long", "reduce the length",
	};

	if (status == 413 || strstr(t->error_code, "context_length") != NULL)
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasestr(t->error.p, words[i]))
			return true;
	return false;
}

static bool may_pass(long status)
{
	return status == 0 || status == 408 || status == 409 || status == 425 ||
	       status == 429 || status >= 500;
}

/* The text of the error: JSON in the usual form, or the beginning of any
 * text. */
static void read_error(struct transfer *x)
{
	struct chat_turn *t = x->turn;
	struct err ignored;
	cJSON *v = json_parse("error", x->body.p, x->body.n, &ignored);

	if (v && cJSON_IsArray(v)) /* form of Google */
		(void)chat_turn_feed(t, cJSON_GetArrayItem(v, 0), &ignored);
	else if (v)
		(void)chat_turn_feed(t, v, &ignored);
	if (t->error.n == 0)
		buf_add_fit(&t->error, x->body.n ? x->body.p : "no explanation",
			    ERROR_SHOWN);
	cJSON_Delete(v);
}

static void classify_error(struct transfer *x, struct chat_result *out)
{
	struct chat_turn *t = x->turn;

	out->outcome = is_overflow(t, out->status) ? CHAT_OVERFLOW
		       : may_pass(out->status) || out->status == 200
			       ? CHAT_RETRY
			       : CHAT_REFUSED;
	if (strcmp(t->error_code, "insufficient_quota") == 0)
		out->outcome = CHAT_REFUSED;
	if (snprintf(out->why, sizeof out->why,
		     "the server returned status %ld: %s", out->status,
		     t->error.p) >= (int)sizeof out->why)
		text_mark_cut(out->why, sizeof out->why);
}

static void classify_transfer(struct transfer *x, CURLcode how,
			      struct chat_result *out)
{
	out->outcome = how == CURLE_UNSUPPORTED_PROTOCOL ||
				       how == CURLE_URL_MALFORMAT ||
				       how == CURLE_PEER_FAILED_VERIFICATION
			       ? CHAT_REFUSED
			       : CHAT_RETRY;
	out->hung = how == CURLE_OPERATION_TIMEDOUT;
	if (out->hung)
		snprintf(out->why, sizeof out->why,
			 x->last ? "the server fell silent in its answer"
				 : "the server did not answer in time");
	else
		text_printf(out->why, sizeof out->why, "%s: %s",
			    curl_easy_strerror(how), x->http->config->url);
}

/* A stream that ends without its end mark was cut off. */
static void check_answer(struct transfer *x, struct chat_result *out)
{
	struct chat_turn *t = x->turn;

	x->streams = x->streams && x->known;
	if (!x->streams &&
	    chat_turn_data(t, x->body.p, x->body.n, &x->err) != 0) {
		x->failed = true;
		return;
	}
	if (t->error.n > 0) {
		classify_error(x, out);
		return;
	}
	out->outcome = CHAT_ANSWERED;
	if (x->streams && !t->over && !t->finish[0]) {
		out->outcome = CHAT_RETRY;
		snprintf(out->why, sizeof out->why,
			 "the server's stream was cut off");
	}
}

static void classify_result(struct transfer *x, CURLcode how,
			    struct chat_result *out)
{
	curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &out->status);
	out->wait_ms = x->wait_ms;
	if (!x->failed && how != CURLE_OK && !x->turn->over) {
		classify_transfer(x, how, out);
	} else if (!x->failed && out->status != 200) {
		read_error(x);
		classify_error(x, out);
	} else if (!x->failed) {
		check_answer(x, out);
	}
	if (x->failed) { /* it violated the protocol; a retry may succeed */
		out->outcome = x->err.code == ERR_TOOBIG ? CHAT_TOO_BIG
							 : CHAT_RETRY;
		text_fit(out->why, sizeof out->why, x->err.text);
	}
	/* A server may repeat the key in its error. */
	secret_hide(out->why, x->http->config->key);
	headers_hide(out->why, &x->http->config->headers);
}

/* --- all --------------------------------------------------------------- */

static void set_options(struct transfer *x, const struct buf *body)
{
	CURL *c = x->easy;

	curl_easy_setopt(c, CURLOPT_URL, x->http->config->url);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, x->http->headers);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, body->p);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->n);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_USERAGENT, "skep/" SKEP_VERSION);
}

int chat_http_exchange(struct chat_http *h,
		       const struct chat_exchange *exchange,
		       struct chat_result *out, struct err *e)
{
	struct transfer x = {.http = h,
			     .exchange = exchange,
			     .turn = exchange->turn,
			     .began = clock_mono_ns()};
	CURLcode how = CURLE_OK;
	int rc;

	*out = (struct chat_result){.outcome = CHAT_RETRY};
	x.easy = curl_easy_init();
	if (!x.easy)
		return err_set(e, ERR_INTERNAL,
			       "cannot create a libcurl handle");
	sse_parser_init(&x.sse, BODY_MAX);
	buf_init(&x.body, BODY_MAX);
	set_options(&x, exchange->body);
	curl_multi_add_handle(h->multi, x.easy);
	rc = wait_for(&x, &how, e);
	if (rc == 0)
		classify_result(&x, how, out);
	curl_multi_remove_handle(h->multi, x.easy); /* aborts the transfer */
	curl_easy_cleanup(x.easy);
	sse_parser_fini(&x.sse);
	buf_fini(&x.body);
	return rc;
}

int chat_http_open(struct chat_http **out, const struct chat_config *c,
		   struct err *e)
{
	struct chat_http *h = calloc(1, sizeof *h);

	if (!h)
		abort();
	h->config = c;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	h->multi = curl_multi_init();
	if (!h->multi) {
		free(h);
		return err_set(e, ERR_INTERNAL, "cannot initialize libcurl");
	}
	curl_add_header(&h->headers, "Content-Type: application/json");
	curl_add_header(&h->headers,
			"Accept: text/event-stream, application/json");
	for (int i = 0; i < c->headers.n; i++)
		curl_add_pair(&h->headers, c->headers.list[i].name, "",
			      c->headers.list[i].value);
	if (c->key)
		curl_add_pair(&h->headers, "Authorization", "Bearer ", c->key);
	*out = h;
	return 0;
}

void chat_http_close(struct chat_http *h)
{
	if (!h)
		return;
	curl_multi_cleanup(h->multi);
	curl_free_headers(h->headers);
	free(h);
}
