#include "supervisor/channel/channel.h"
#include "supervisor/channel/delivery.h"
#include "supervisor/channel/internal.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/http/curl_loop.h"
#include "supervisor/channel/outbox.h"
#include "supervisor/channel/plugin/log.h"
#include "supervisor/channel/plugin/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLEANUP_TICKS    4 /* a second */
#define DRAIN_MS         1000
#define CLEANUP_PAUSE_MS 5

static const struct channel_ops *const kinds[] = {
	&channel_file, &channel_webhook, &channel_smtp,
	&channel_pull, &channel_plugin,
};

static const struct channel_ops *ops_of(const char *kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strcmp(kinds[i]->kind, kind))
			return kinds[i];
	return NULL;
}

static struct channel *find_any(struct supervisor *s, const char *name)
{
	struct channel *c = s->channels ? s->channels->first : NULL;

	while (c && strcmp(c->name, name) != 0)
		c = c->next;
	return c;
}

struct channel *channel_find(struct supervisor *s, const char *name)
{
	struct channel *c = find_any(s, name);

	return c && !c->draining ? c : NULL;
}

void channel_hint_due(struct supervisor *s, const char *name)
{
	struct channel *c = channel_find(s, name);

	if (c)
		c->may_be_due = true;
	else if (s->channels)
		s->channels->orphans = true;
}

static int log_channel_event(struct channel *c, const char *what,
			     const char *detail, struct err *e)
{
	struct host_event_channel_in in = {clock_now(), c->name, what, detail};

	c->sup->host_changed = true;
	return sql_exec(c->sup->db, Q_HOST_EVENT_CHANNEL, &in, e) < 0 ? -1 : 0;
}

/* Stores the last error for users; the log contains all of them. */
void channel_set_error(struct channel *c, const char *text)
{
	struct channel_set_error_in in = {c->name, text, clock_now()};
	struct err e;

	log_warn(LT("msg", "error of a channel"), LT("channel", c->name),
		 LT("error", text));
	if (txn_begin(&c->sup->txn, &e) ||
	    sql_exec(c->sup->db, Q_CHANNEL_SET_ERROR, &in, &e) < 0 ||
	    log_channel_event(c, "error", text, &e))
		log_error(LT("msg", "cannot store the error of a channel"),
			  LT("error", e.text));
}

void channel_state(struct channel *c, const char *state, int64_t pid,
		   bool started)
{
	struct channel_state_in in = {c->name, state, pid ? pid : OPT_NONE,
				      started};
	struct err e;

	if (txn_begin(&c->sup->txn, &e) ||
	    sql_exec(c->sup->db, Q_CHANNEL_STATE, &in, &e) < 0)
		log_error(LT("msg", "cannot store the state of a channel"),
			  LT("error", e.text));
	c->sup->host_changed = true;
}

void channel_pause(struct channel *c, const char *why)
{
	struct channel_switch_in in = {c->name, OPT_NONE, true, clock_now()};
	struct err e;

	if (c->paused)
		return;
	c->paused = true;
	if (txn_begin(&c->sup->txn, &e) ||
	    sql_exec(c->sup->db, Q_CHANNEL_SWITCH, &in, &e) < 0 ||
	    log_channel_event(c, "pause", why, &e))
		log_error(LT("msg", "cannot pause a channel"),
			  LT("error", e.text));
	channel_set_error(c, why);
}

void channel_clear_error(struct channel *c)
{
	struct channel_set_error_in in = {c->name, NULL, OPT_NONE};
	struct err e;

	if (txn_begin(&c->sup->txn, &e) ||
	    sql_exec(c->sup->db, Q_CHANNEL_SET_ERROR, &in, &e) < 0)
		log_error(LT("msg", "cannot store the error of a channel"),
			  LT("error", e.text));
}

/* --- opening and closing -------------------------------------------------- */

static void close_channel(struct channel *c)
{
	struct channel **at = &c->sup->channels->first;

	while (*at != c)
		at = &(*at)->next;
	c->ops->close(c);
	channel_state(c, NULL, 0, false);
	*at = c->next;
	for (struct inflight *p = c->sup->channels->done; p; p = p->next)
		if (p->channel == c)
			p->channel = NULL;
	arena_fini(&c->arena);
	free(c);
}

static int read_row(struct channel *c, const struct channel_row *row,
		    struct err *e)
{
	c->name = arena_text(&c->arena, row->name);
	c->id = arena_text(&c->arena, row->id);
	c->json = arena_text(&c->arena, row->config);
	c->command = arena_text(&c->arena, row->command);
	c->updated_at = row->updated_at;
	c->paused = row->is_paused;
	c->hold_stored = row->held_until == OPT_NONE ? 0 : row->held_until;
	if (channel_config_read(&c->config, row->kind, row->config, &c->arena,
				e))
		return -1;
	c->idempotent = !strcmp(c->config.idempotent, "auto")
				? c->ops->idempotent
				: !strcmp(c->config.idempotent, "yes");
	return 0;
}

static void open_channel(struct supervisor *s, const struct channel_row *row)
{
	struct channel *c = calloc(1, sizeof *c);
	struct err e;

	if (!c)
		abort();
	c->sup = s;
	c->ops = ops_of(row->kind);
	c->may_be_due = c->resolve = true;
	c->next_due = c->resolve_at = OPT_NONE;
	c->next = s->channels->first;
	s->channels->first = c;
	if (read_row(c, row, &e) == 0 && c->ops->open(c, &e) == 0) {
		if (c->ops != &channel_plugin) {
			channel_state(c, "ready", 0, false);
			if (row->last_error)
				channel_clear_error(c);
		}
		return;
	}
	channel_set_error(c, e.text);
	channel_state(c, "failed", 0, false);
	s->channels->first = c->next;
	arena_fini(&c->arena);
	free(c);
}

/* Closes the channel at once (true), or when no delivery is in flight, or a
 * second later. channel_find does not find it meanwhile. */
static bool drain_channel(struct channel *c)
{
	if (c->inflight == 0 || c->ops->pull) {
		close_channel(c);
		return true;
	}
	if (!c->draining) {
		c->draining = true;
		c->drain_until_ms = (int64_t)uv_now(&c->sup->loop) + DRAIN_MS;
	}
	return false;
}

/* Opens, closes or reopens the channel according to its row. A change of the
 * pause alone does not restart a plugin. */
static void apply_row(struct supervisor *s, const struct channel_row *row)
{
	struct channel *c = find_any(s, row->name);
	bool same = c && !strcmp(c->json, row->config) &&
		    !strcmp(c->id, row->id) &&
		    !strcmp(c->command ? c->command : "",
			    row->command ? row->command : "");

	if (c && (!row->is_enabled || !same)) {
		if (!drain_channel(c))
			return; /* repeated when it is closed */
		c = NULL;
	}
	if (c) {
		c->draining = false; /* enabled again before it closed */
		c->paused = row->is_paused;
		if (row->held_until == OPT_NONE)
			c->hold_until = 0;
		c->may_be_due = true;
	} else if (row->is_enabled) {
		open_channel(s, row);
	}
}

void channel_reload(struct supervisor *s, const char *name)
{
	struct channel *c = find_any(s, name);
	struct channel_row row;
	struct arena a = {0};
	struct err e;
	int found = sql_get(s->db, Q_CHANNEL_GET,
			    &(struct channel_get_in){name}, &row, &a, &e);

	if (found == 1)
		apply_row(s, &row);
	else if (found == 0 && c)
		(void)drain_channel(c);
	else if (found < 0)
		log_error(LT("msg", "cannot read the row of a channel"),
			  LT("error", e.text));
	/* its messages were deleted with it */
	s->channels->media.gc |= found == 0;
	s->channels->orphans |= found == 0;
	arena_fini(&a);
}

/* Closes drained channels; channel_reload opens them again if their rows say
 * so. */
static void close_drained(struct supervisor *s)
{
	int64_t now = (int64_t)uv_now(&s->loop);
	struct channel *next;
	char name[80];

	for (struct channel *c = s->channels->first; c; c = next) {
		next = c->next;
		if (!c->draining ||
		    (c->inflight > 0 && now < c->drain_until_ms))
			continue;
		snprintf(name, sizeof name, "%s", c->name);
		close_channel(c);
		channel_reload(s, name);
		next = s->channels->first;
	}
}

void channels_on_due(uv_timer_t *t)
{
	struct supervisor *s = t->data;
	int64_t now = clock_now();

	s->channels->due_at = OPT_NONE;
	for (struct channel *c = s->channels->first; c; c = c->next)
		if (c->hold_until <= now || c->next_due <= now)
			c->may_be_due = true;
}

static void on_deferred_cleanup(uv_timer_t *t)
{
	struct supervisor *s = t->data;

	s->channels->cleanup = s->channels->orphans = true;
}

void channels_defer_cleanup(struct supervisor *s)
{
	if (!s->channels->closing)
		uv_timer_start(&s->channels->cleanup_timer, on_deferred_cleanup,
			       CLEANUP_PAUSE_MS, 0);
}

static void move_one(int64_t *deadline, int64_t by)
{
	if (*deadline != OPT_NONE && *deadline != 0)
		*deadline += by;
}

static void move_deadlines(struct supervisor *s, const struct hint *h)
{
	struct channels *k = s->channels;

	if (!k)
		return;
	k->suspended_until += h->by_ms;
	move_one(&k->due_at, h->by_ms);
	for (struct channel *c = k->first; c; c = c->next) {
		move_one(&c->resolve_at, h->by_ms);
		move_one(&c->hold_until, h->by_ms);
		move_one(&c->hold_stored, h->by_ms);
		move_one(&c->next_due, h->by_ms);
		move_one(&c->suspended_until, h->by_ms);
	}
}

int64_t channels_outcomes(const struct supervisor *s)
{
	return s->channels->outcomes;
}

int channels_open(struct supervisor *s, struct err *e)
{
	struct channels *k = calloc(1, sizeof *k);
	struct channel_row *rows;
	struct arena a = {0};
	int n;

	if (!k)
		abort();
	s->channels = k;
	on_hint(s, HINT_CLOCK_SET, move_deadlines);
	k->done_end = &k->done;
	k->due_at = OPT_NONE;
	k->recovering = k->media.gc = k->orphans = true;
	uv_timer_init(&s->loop, &k->due);
	uv_timer_init(&s->loop, &k->cleanup_timer);
	uv_timer_init(&s->loop, &k->plugin_timer);
	k->due.data = k->cleanup_timer.data = k->plugin_timer.data = s;
	k->web = curl_loop_new(&s->loop);
	k->mail = curl_loop_new(&s->loop);
	if (s->read_only)
		return 0;
	if (outbox_open(s, e) || channel_media_open(s, e))
		return -1;
	if (txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_CHANNEL_FORGET_STATES, NULL, e) < 0)
		return -1;
	n = sql_collect(s->db, Q_CHANNEL_LIST, NULL, 100000, &rows, &a, e);
	if (n >= 0)
		plugin_end_leftovers(s);
	for (int i = 0; i < n; i++)
		if (rows[i].is_enabled)
			open_channel(s, &rows[i]);
	for (struct channel *c = k->first; c; c = c->next)
		c->hold_until = c->hold_stored; /* from a former skepd */
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

void channels_drain(struct supervisor *s)
{
	struct channels *k = s->channels;

	if (!k) {
		uv_stop(&s->loop);
		return;
	}
	k->draining = true;
	k->drain_until_ms = (int64_t)uv_now(&s->loop) + DRAIN_MS;
	inflight_end_if_none(s);
}

void channels_stop(struct supervisor *s)
{
	struct channels *k = s->channels;

	if (!k)
		return;
	k->closing = true;
	while (k->first)
		close_channel(k->first);
	plugin_wait_all(s);
	plugin_logs_close(s);
	curl_loop_close(k->web);
	curl_loop_close(k->mail); /* reports the outcomes of mails */
	inflight_record_last(s);
	outbox_close(s);
	uv_close((uv_handle_t *)&k->due, NULL);
	uv_close((uv_handle_t *)&k->cleanup_timer, NULL);
	uv_close((uv_handle_t *)&k->plugin_timer, NULL);
}

void channels_free(struct supervisor *s)
{
	struct channels *k = s->channels;

	while (k && k->done) {
		struct inflight *p = k->done;

		k->done = p->next;
		inflight_free(p);
	}
	if (k)
		stuck_fini(&k->stuck);
	free(k);
	s->channels = NULL;
}

void channels_tick(struct supervisor *s)
{
	int64_t now = clock_now();
	struct channel *next;

	for (struct channel *c = s->channels->first; c; c = next) {
		next = c->next;
		inflight_resolve_if_due(c, now);
		c->may_be_due |= c->hold_stored && c->hold_stored <= now;
		if (c->ops->tick)
			c->ops->tick(c);
	}
	close_drained(s);
	if (s->ticks % CLEANUP_TICKS == 0) {
		s->channels->cleanup = true;
		s->channels->orphans |= s->channels->stuck.n > 0;
	}
	channel_media_tick(s);
	outbox_tick(s);
	inflight_end_if_none(s);
}
