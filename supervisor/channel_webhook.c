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

struct hook {
	struct hook *next; /* in the channel's list of handles at rest */
	struct hook *prev_busy, *next_busy;
	CURL *easy;
	struct curl_slist *headers;
	struct parcel *parcel;
	struct channel *channel;
	char answer[ANSWER_KEPT];
	size_t answered;
};

struct webhook {
	struct buf secrets;
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

static struct hook *hook_new(struct channel *c)
{
	struct hook *h = calloc(1, sizeof *h);

	if (!h || !(h->easy = curl_easy_init()))
		abort();
	h->channel = c;
	curl_easy_setopt(h->easy, CURLOPT_URL, c->config.url);
	curl_easy_setopt(h->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h->easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h->easy, CURLOPT_TIMEOUT_MS, (long)c->config.timeout);
	curl_easy_setopt(h->easy, CURLOPT_USERAGENT, AGENT_NAME);
	curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, h);
	if (c->config.ca_file[0])
		curl_easy_setopt(h->easy, CURLOPT_CAINFO, c->config.ca_file);
	return h;
}

static void hook_free(struct hook *h)
{
	curl_slist_free_all(h->headers);
	curl_easy_cleanup(h->easy);
	free(h);
}

static void unlink_busy(struct webhook *w, struct hook *h)
{
	if (h->prev_busy)
		h->prev_busy->next_busy = h->next_busy;
	else
		w->busy = h->next_busy;
	if (h->next_busy)
		h->next_busy->prev_busy = h->prev_busy;
	h->prev_busy = h->next_busy = NULL;
}

/* --- sending ---------------------------------------------------------- */

/* What libcurl says when there is no answer. */
static struct outcome no_answer(const struct hook *h, CURLcode code)
{
	long sent = 0;

	curl_easy_getinfo(h->easy, CURLINFO_REQUEST_SIZE, &sent);
	return outcome_of(sent > 0 ? DELIVERY_EV_LOSE : DELIVERY_EV_FAIL,
			  OPT_NONE, -1, "%s", curl_easy_strerror(code));
}

static struct outcome an_answer(const struct hook *h)
{
	curl_off_t after = 0;
	long status = 0;
	enum delivery_event event;

	curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &after);
	event = event_of(status);
	return outcome_of(event, status,
			  event == DELIVERY_EV_FAIL && after > 0 ? after * 1000
								 : -1,
			  "%s", event == DELIVERY_EV_ACK ? "" : h->answer);
}

static void on_done(void *arg, CURL *easy, CURLcode code)
{
	struct hook *h = arg;
	struct channel *c = h->channel;
	struct webhook *w = c->own;
	struct parcel *p = h->parcel;
	long status = 0;
	struct outcome o;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	/* Closed after a whole answer was there: it counts. */
	o = status >= 200 && (code == CURLE_OK || code == CURLE_RECV_ERROR ||
			      code == CURLE_PARTIAL_FILE)
		    ? an_answer(h)
		    : no_answer(h, code);
	unlink_busy(w, h);
	curl_slist_free_all(h->headers);
	h->headers = NULL;
	h->parcel = NULL;
	h->next = w->rest;
	w->rest = h;
	parcel_done(p, &o);
}

static void add_header(struct hook *h, const char *name, const char *value)
{
	struct buf b = BUF_MAX(1024);

	buf_addf(&b, "%s: %s", name, value);
	h->headers = curl_slist_append(h->headers, b.p);
	buf_fini(&b);
}

static int make_body(struct parcel *p, struct err *e)
{
	char now[CLOCK_TEXT];

	buf_addf(&p->body,
		 "{\"type\":\"message\",\"timestamp\":\"%s\",\"data\":",
		 clock_text(p->row.created_at, now));
	if (wire_data(p, true, &p->body, e))
		return -1;
	buf_addc(&p->body, '}');
	return buf_ok(&p->body, "the message", e);
}

static int start(struct hook *h, struct parcel *p, struct err *e)
{
	struct webhook *w = h->channel->own;
	char sign[WEBHOOK_SIGNATURE], when[24];
	int64_t now = clock_now() / 1000;
	struct blob body;

	if (make_body(p, e))
		return -1;
	body = (struct blob){p->body.p, p->body.n};
	if (webhook_sign(w->secrets.p, p->row.id, now, body, sign, e))
		return -1;
	snprintf(when, sizeof when, "%lld", (long long)now);
	h->parcel = p;
	h->answered = 0;
	h->answer[0] = '\0';
	add_header(h, "content-type", "application/json");
	add_header(h, "webhook-id", p->row.id);
	add_header(h, "webhook-timestamp", when);
	add_header(h, "webhook-signature", sign);
	h->headers = curl_slist_append(h->headers, "expect:");
	curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, h->headers);
	curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, p->body.p);
	curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)p->body.n);
	return curl_loop_add(h->channel->sup->channels->curl, h->easy, on_done,
			     h, e);
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
		h->next_busy = w->busy;
		if (w->busy)
			w->busy->prev_busy = h;
		w->busy = h;
		return;
	}
	hook_free(h);
	o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1, "%s", e.text);
	parcel_done(p, &o);
}

/* --- life ------------------------------------------------------------- */

static int hook_open(struct channel *c, struct err *e)
{
	struct webhook *w = calloc(1, sizeof *w);
	const char *file = c->config.secret_file;

	if (!w)
		abort();
	if (!file[0])
		file = arena_printf(&c->arena, "channel-%s.secret", c->name);
	buf_init(&w->secrets, 8192);
	if (channel_secret(c->sup, file, &w->secrets, e) ||
	    webhook_check_secrets(w->secrets.p, e)) {
		buf_fini(&w->secrets);
		free(w);
		return -1;
	}
	c->own = w;
	return 0;
}

static void hook_close(struct channel *c)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1,
				      "the channel was closed");
	struct webhook *w = c->own;
	struct hook *h;

	while ((h = w->busy)) {
		w->busy = h->next_busy;
		curl_loop_drop(c->sup->channels->curl, h->easy);
		parcel_done(h->parcel, &o);
		hook_free(h);
	}
	while ((h = w->rest)) {
		w->rest = h->next;
		hook_free(h);
	}
	buf_fini(&w->secrets);
	free(w);
}

static bool hook_ready(const struct channel *c)
{
	return c->config.url[0] != '\0';
}

const char *webhook_secrets(const struct channel *c)
{
	const struct webhook *w = c->own;

	return w->secrets.p;
}

const struct channel_ops channel_webhook = {
	.kind = "webhook",
	.idempotent = true,
	.open = hook_open,
	.close = hook_close,
	.ready = hook_ready,
	.send = hook_send,
};
