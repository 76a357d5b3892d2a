/*
 * webhook: each message is a POST of JSON, signed per the Standard Webhooks
 * specification. webhook-id is the delivery's id, the same in every attempt, so
 * a receiver that keeps ids gets each message once.
 */
#include "supervisor/channel.h"

#include "base/clock.h"
#include "base/log.h"
#include "supervisor/curl_loop.h"
#include "supervisor/webhook_sign.h"
#include "supervisor/wire.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_KEPT 160 /* bytes of a refusal, for people */
#define AGENT_NAME  "skep/" SKEP_VERSION
#define AFTER_MAX   86400 /* seconds that a receiver may hold its channel */

#define BODY_MAX  (64u << 20)
#define BODY_KEPT (64u << 10) /* a larger one is freed after its message */

enum { TYPE, IDENT, WHEN, SIGNATURE, EXPECT, HEADERS };

/*
 * A request that is made again and again. While it is under way it belongs to
 * libcurl's thread, and may outlive its channel; it holds all that is sent.
 */
struct hook {
	struct transfer transfer; /* first: it is found by it */
	struct hook *next, *prev; /* at rest: next only */
	struct channel *channel;  /* NULL: it was closed meanwhile */
	struct parcel *parcel;
	struct curl_slist headers[HEADERS];
	struct buf text[HEADERS];
	struct buf body;
	char answer[ANSWER_KEPT];
	size_t answered;
};

struct webhook {
	struct webhook_keys *keys;
	struct hook *rest;
	struct hook *busy;
};

/* What an HTTP status means for the message. */
static enum delivery_event event_of(long status)
{
	static const long again[] = {408, 409, 423, 425, 429};

	if (status >= 200 && status < 300)
		return DELIVERY_EV_ACK;
	for (size_t i = 0; i < sizeof again / sizeof again[0]; i++)
		if (status == again[i])
			return DELIVERY_EV_FAIL;
	if (status >= 500 && status != 501 && status != 505)
		return DELIVERY_EV_FAIL;
	return DELIVERY_EV_REFUSE;
}

static size_t on_answer(char *p, size_t size, size_t n, void *arg)
{
	struct hook *h = arg;
	size_t room = sizeof h->answer - 1 - h->answered;
	size_t take = n * size < room ? n * size : room;

	for (size_t i = 0; i < take; i++)
		h->answer[h->answered++] = (unsigned char)p[i] < 32 ? ' '
								    : p[i];
	h->answer[h->answered] = '\0';
	return n * size;
}

/* libcurl would send it again by itself when a connection that it used before
 * ends without an answer. Whether it is sent again is ours to decide. */
static int before_request(void *arg, char *to, char *from, int to_port,
			  int from_port)
{
	struct hook *h = arg;
	long sent = 0;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	curl_easy_getinfo(h->transfer.easy, CURLINFO_REQUEST_SIZE, &sent);
	return sent > 0 ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void add_header(struct hook *h, int i, const char *name,
		       const char *value)
{
	struct buf *b = &h->text[i];

	buf_clear(b);
	buf_adds(b, name);
	buf_adds(b, value);
	h->headers[i].data = b->p;
}

static struct hook *hook_new(struct channel *c)
{
	struct hook *h = calloc(1, sizeof *h);
	CURL *easy = curl_easy_init();

	if (!h || !easy)
		abort();
	h->transfer.easy = easy;
	h->channel = c;
	buf_init(&h->body, BODY_MAX);
	for (int i = 0; i < HEADERS; i++) {
		buf_init(&h->text[i], 2048);
		h->headers[i].next = i + 1 < HEADERS ? &h->headers[i + 1]
						     : NULL;
	}
	add_header(h, TYPE, "content-type: ", "application/json");
	add_header(h, EXPECT, "expect:", "");
	curl_easy_setopt(easy, CURLOPT_URL, c->config.url);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, h->headers);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)c->config.timeout);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, AGENT_NAME);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, h);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_request);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, h);
	if (c->config.ca_file[0])
		curl_easy_setopt(easy, CURLOPT_CAINFO, c->config.ca_file);
	return h;
}

static void hook_free(struct hook *h)
{
	curl_easy_cleanup(h->transfer.easy);
	for (int i = 0; i < HEADERS; i++)
		buf_fini(&h->text[i]);
	buf_fini(&h->body);
	free(h);
}

static void add_busy(struct webhook *w, struct hook *h)
{
	h->prev = NULL;
	h->next = w->busy;
	if (w->busy)
		w->busy->prev = h;
	w->busy = h;
}

static void take_busy(struct webhook *w, struct hook *h)
{
	if (h->prev)
		h->prev->next = h->next;
	else
		w->busy = h->next;
	if (h->next)
		h->next->prev = h->prev;
}

/* --- sending ---------------------------------------------------------- */

/* What libcurl says when there is no answer. */
static struct outcome no_answer(const struct hook *h, CURLcode code)
{
	long sent = 0;

	curl_easy_getinfo(h->transfer.easy, CURLINFO_REQUEST_SIZE, &sent);
	return outcome_of(sent > 0 ? DELIVERY_EV_LOSE : DELIVERY_EV_FAIL,
			  OPT_NONE, -1, "%s",
			  code == CURLE_ABORTED_BY_CALLBACK
				  ? "the connection ended without an answer"
				  : curl_easy_strerror(code));
}

/* Whoever answered by mistake with years does not stop the channel for years. */
static int64_t hold_of(const struct hook *h)
{
	curl_off_t after = 0;

	curl_easy_getinfo(h->transfer.easy, CURLINFO_RETRY_AFTER, &after);
	if (after <= 0)
		return -1;
	return (after < AFTER_MAX ? after : AFTER_MAX) * 1000;
}

static struct outcome an_answer(const struct hook *h, long status)
{
	enum delivery_event event = event_of(status);
	char *to = NULL;

	if (event == DELIVERY_EV_ACK)
		return outcome_of(event, status, -1, "%s", "");
	if (event == DELIVERY_EV_FAIL)
		return outcome_of(event, status, hold_of(h), "%s", h->answer);
	curl_easy_getinfo(h->transfer.easy, CURLINFO_REDIRECT_URL, &to);
	if (to)
		return outcome_of(event, status, -1,
				  "it has moved, and redirects are not "
				  "followed: set url to %s",
				  to);
	return outcome_of(event, status, -1, "%s", h->answer);
}

static void on_done(struct transfer *t, CURLcode code)
{
	struct hook *h = (struct hook *)t;
	struct channel *c = h->channel;
	struct webhook *w = c ? c->own : NULL;
	long status = 0;
	struct outcome o;

	if (!c) {
		hook_free(h);
		return;
	}
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	/* A status is an answer, whatever became of the rest of it. */
	o = status >= 200 ? an_answer(h, status) : no_answer(h, code);
	take_busy(w, h);
	if (h->body.n > BODY_KEPT)
		buf_fini(&h->body);
	h->next = w->rest;
	w->rest = h;
	parcel_done(h->parcel, &o);
}

static int make_body(struct hook *h, const struct parcel *p, struct err *e)
{
	struct buf *b = &h->body;
	char at[CLOCK_TEXT];

	buf_clear(b);
	buf_adds(b, "{\"type\":\"message\",\"timestamp\":\"");
	buf_adds(b, clock_text(p->row.created_at, at));
	buf_adds(b, "\",\"data\":");
	if (wire_data(p, true, b, e))
		return -1;
	buf_addc(b, '}');
	return buf_ok(b, "the message", e);
}

static int make_headers(struct hook *h, const struct parcel *p, struct err *e)
{
	struct webhook *w = h->channel->own;
	struct buf *b = &h->text[SIGNATURE];
	int64_t now = clock_now() / 1000;
	char when[24];

	snprintf(when, sizeof when, "%lld", (long long)now);
	add_header(h, IDENT, "webhook-id: ", p->row.id);
	add_header(h, WHEN, "webhook-timestamp: ", when);
	add_header(h, SIGNATURE, "webhook-signature: ", "");
	if (webhook_sign(w->keys, p->row.id, now,
			 (struct blob){h->body.p, h->body.n}, b, e))
		return -1;
	h->headers[SIGNATURE].data = b->p;
	return 0;
}

static int start(struct hook *h, struct parcel *p, struct err *e)
{
	CURL *easy = h->transfer.easy;

	if (make_body(h, p, e) || make_headers(h, p, e))
		return -1;
	h->parcel = p;
	h->answered = 0;
	h->answer[0] = '\0';
	h->transfer.done = on_done;
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, h->body.p);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)h->body.n);
	return curl_loop_start(h->channel->sup->channels->curl, &h->transfer,
			       e);
}

static void hook_send(struct channel *c, struct parcel *p)
{
	struct webhook *w = c->own;
	struct hook *h = w->rest;
	struct outcome o;
	struct err e;

	if (h)
		w->rest = h->next;
	else
		h = hook_new(c);
	if (start(h, p, &e) == 0) {
		add_busy(w, h);
		return;
	}
	hook_free(h);
	o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1, "%s", e.text);
	parcel_done(p, &o);
}

/* --- life ------------------------------------------------------------- */

static int hook_open(struct channel *c, struct err *e)
{
	struct buf secrets = BUF_MAX(8192);
	const char *file = c->config.secret_file;
	struct webhook_keys *keys = NULL;
	struct webhook *w;

	if (!file[0])
		file = arena_printf(&c->arena, "channel-%s.secret", c->name);
	if (channel_secret(c->sup, file, &secrets, e) == 0 &&
	    webhook_keys_new(&keys, secrets.p, e))
		keys = NULL;
	buf_fini(&secrets);
	if (!keys)
		return -1;
	w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->keys = keys;
	c->own = w;
	return 0;
}

/* What is under way is given up; its memory goes when libcurl lets go of it. */
static void hook_close(struct channel *c)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1,
				      "the channel was closed");
	struct webhook *w = c->own;
	struct hook *h;

	while ((h = w->busy)) {
		take_busy(w, h);
		h->channel = NULL;
		curl_loop_drop(c->sup->channels->curl, &h->transfer);
		parcel_done(h->parcel, &o);
	}
	while ((h = w->rest)) {
		w->rest = h->next;
		hook_free(h);
	}
	webhook_keys_free(w->keys);
	free(w);
}

static bool hook_ready(const struct channel *c)
{
	return c->config.url[0] != '\0';
}

struct webhook_keys *webhook_keys_of(const struct channel *c)
{
	const struct webhook *w = c->own;

	return w->keys;
}

const struct channel_ops channel_webhook = {
	.kind = "webhook",
	.idempotent = true,
	.open = hook_open,
	.close = hook_close,
	.ready = hook_ready,
	.send = hook_send,
};
