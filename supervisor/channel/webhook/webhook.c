/*
 * webhook: each message is a POST of JSON, signed per the Standard Webhooks
 * specification. webhook-id is the delivery's id, the same in every attempt, so
 * a receiver that keeps ids gets each message once.
 */
#include "supervisor/channel/delivery.h"
#include "supervisor/channel/internal.h"

#include "lib/base/clock.h"
#include "supervisor/channel/envelope.h"
#include "supervisor/channel/webhook/post.h"
#include "supervisor/channel/webhook/receive.h"

#include <stdlib.h>

#define HTTP_GONE 410

/* A request in flight may outlive its channel. */
struct hook {
	struct post post; /* first, since a transfer is cast to its hook */
	struct hook *next, *prev; /* idle ones use next only */
	struct channel *channel;  /* NULL: the channel was closed */
	struct inflight *delivery;
};

struct webhook {
	struct secret_file secret;
	struct webhook_keys *keys; /* as last read */
	bool broken;               /* the file is invalid now */
	struct hook *idle;
	struct hook *busy;
};

static struct hook *hook_new(struct channel *c)
{
	struct hook *h = calloc(1, sizeof *h);

	if (!h)
		abort();
	h->channel = c;
	post_init(&h->post, &c->config);
	return h;
}

static void hook_free(struct hook *h)
{
	post_fini(&h->post);
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

static void unlink_busy(struct webhook *w, struct hook *h)
{
	if (h->prev)
		h->prev->next = h->next;
	else
		w->busy = h->next;
	if (h->next)
		h->next->prev = h->prev;
}

/* --- sending ---------------------------------------------------------- */

/* 410: the receiver rejects further messages. The channel is paused until a
 * user acts; this delivery waits too. */
static void stop_sending(struct channel *c, struct outcome *o)
{
	o->event = DELIVERY_EV_FAIL;
	o->not_counted = true;
	channel_pause(c, "the receiver no longer exists (HTTP status "
			 "410); set url, then run 'skep channel "
			 "resume'");
}

static void on_done(struct transfer *t, CURLcode code)
{
	struct hook *h = (struct hook *)t;
	struct channel *c = h->channel;
	struct webhook *w = c ? c->own : NULL;
	struct outcome o;

	if (!c) {
		hook_free(h);
		return;
	}
	o = post_outcome(&h->post, code);
	if (o.code == HTTP_GONE)
		stop_sending(c, &o);
	unlink_busy(w, h);
	post_trim(&h->post);
	h->next = w->idle;
	w->idle = h;
	inflight_done(h->delivery, &o);
}

static int make_body(struct buf *b, const struct inflight *p, struct err *e)
{
	char at[CLOCK_TEXT];

	buf_clear(b);
	json_begin_object(b);
	json_put_text(b, "type", "message");
	json_put_text(b, "timestamp", clock_text(p->row.created_at, at));
	json_key(b, "data");
	if (envelope_write_data(p, true, b, e))
		return -1;
	json_end_object(b);
	return buf_ok(b, "the message", e);
}

static int make_headers(struct hook *h, const struct inflight *p, struct err *e)
{
	struct post *post = &h->post;
	int64_t now = clock_now() / 1000;
	char when[24];

	snprintf(when, sizeof when, "%lld", (long long)now);
	post_header(post, POST_IDENT, "webhook-id: ", p->row.id);
	post_header(post, POST_WHEN, "webhook-timestamp: ", when);
	post_header(post, POST_SIGNATURE, "webhook-signature: ", "");
	return webhook_sign(webhook_keys_of(h->channel), p->row.id, now,
			    (struct blob){post->body.p, post->body.n},
			    &post->text[POST_SIGNATURE], e);
}

static int start_request(struct hook *h, struct inflight *p, struct err *e)
{
	if (make_body(&h->post.body, p, e) || make_headers(h, p, e))
		return -1;
	h->delivery = p;
	h->post.transfer.done = on_done;
	return post_start(&h->post, h->channel->sup->channels->web, e);
}

static void hook_send(struct channel *c, struct inflight *p)
{
	struct webhook *w = c->own;
	struct hook *h = w->idle;
	struct outcome o;
	struct err e;

	if (h)
		w->idle = h->next;
	else
		h = hook_new(c);
	if (start_request(h, p, &e) == 0) {
		add_busy(w, h);
		return;
	}
	hook_free(h);
	o = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1, "%s", e.text);
	inflight_done(p, &o);
}

/* --- opening and closing -------------------------------------------------- */

/* Reads the file again when it changed, so a secret can be replaced at any
 * time. While the file is invalid, the former keys are used. */
struct webhook_keys *webhook_keys_of(struct channel *c)
{
	struct webhook *w = c->own;
	struct webhook_keys *keys;
	struct err e;

	if (!secret_file_changed(&w->secret))
		return w->keys;
	if (webhook_keys_read(&w->secret, &keys, &e)) {
		if (!w->broken)
			channel_set_error(c, e.text);
		w->broken = true;
		return w->keys;
	}
	webhook_keys_free(w->keys);
	w->keys = keys;
	if (w->broken)
		channel_clear_error(c);
	w->broken = false;
	return keys;
}

static int hook_open(struct channel *c, struct err *e)
{
	struct webhook *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	w->secret.path = webhook_secret(c->sup, c->name, &c->config, &c->arena);
	c->own = w;
	if (webhook_keys_read(&w->secret, &w->keys, e) == 0)
		return 0;
	free(w);
	return err_wrap(e,
			"write whsec_ and the base64 of a secret to "
			"its file, then run 'skep channel enable %s'",
			c->name);
}

/* Requests in flight are cancelled; libcurl's thread frees them. */
static void hook_close(struct channel *c)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1,
				      "the channel was closed");
	struct webhook *w = c->own;
	struct hook *h;

	while ((h = w->busy)) {
		unlink_busy(w, h);
		h->channel = NULL;
		curl_loop_drop(c->sup->channels->web, &h->post.transfer);
		inflight_done(h->delivery, &o);
	}
	while ((h = w->idle)) {
		w->idle = h->next;
		hook_free(h);
	}
	webhook_keys_free(w->keys);
	free(w);
}

static bool hook_ready(const struct channel *c)
{
	return c->config.url[0] != '\0';
}

const struct channel_ops channel_webhook = {
	.kind = "webhook",
	.idempotent = true,
	.open = hook_open,
	.close = hook_close,
	.ready = hook_ready,
	.send = hook_send,
};
