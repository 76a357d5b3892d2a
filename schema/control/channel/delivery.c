#include "schema/control/channel/delivery.h"

#include "lib/base/text.h"

#include <assert.h>
#include <string.h>

enum { WAITING, IN_FLIGHT, UNCERTAIN, FINAL };

static const struct {
	const char *word;
	int kind;
} states[DELIVERY_STATES] = {
#define DELIVERY_STATE(name, word, kind) [DELIVERY_##name] = {word, kind},
#define DELIVERY_TRANSITION(from, event, to)
#include "schema/control/channel/delivery_fsm.def"
#undef DELIVERY_STATE
#undef DELIVERY_TRANSITION
};

static const struct delivery_transition transitions[DELIVERY_STATES]
						   [DELIVERY_EVENTS] = {
#define DELIVERY_STATE(name, word, kind)
#define DELIVERY_TRANSITION(from, event, to) \
	[DELIVERY_##from][DELIVERY_EV_##event] = {true, DELIVERY_##to},
#include "schema/control/channel/delivery_fsm.def"
#undef DELIVERY_STATE
#undef DELIVERY_TRANSITION
};

struct delivery_transition delivery_fsm(enum delivery_state s,
					enum delivery_event e)
{
	return transitions[s][e];
}

const char *delivery_state_name(enum delivery_state s)
{
	return states[s].word;
}

int delivery_state_from(const char *word)
{
	for (int i = 0; word && i < DELIVERY_STATES; i++)
		if (!strcmp(states[i].word, word))
			return i;
	return -1;
}

bool delivery_state_is_over(enum delivery_state s)
{
	return states[s].kind == FINAL;
}

bool delivery_state_is_queued(enum delivery_state s)
{
	return states[s].kind == WAITING || states[s].kind == IN_FLIGHT;
}

/* --- new ones --------------------------------------------------------- */

int delivery_add(struct sql *db, const struct delivery_new *d, int64_t now,
		 struct id *id, struct err *e)
{
	struct delivery_insert_in row = {
		.channel = d->channel,
		.conversation = d->conversation,
		.ordering_key = d->ordering_key,
		.source_key = d->source_key,
		.agent = d->agent,
		.session = d->session,
		.reply_to = d->reply_to,
		.body = d->body,
		.resend_of = d->resend_of,
		.expires_at = d->max_age_ms == OPT_NONE ? OPT_NONE
							: now + d->max_age_ms,
		.now = now,
	};

	*id = id_new(ID_DELIVERY);
	row.id = id->text;
	return sql_exec(db, Q_DELIVERY_INSERT, &row, e);
}

int delivery_resend(struct sql *db, const char *id, int64_t now,
		    struct id *made, struct err *e)
{
	struct delivery_row row;
	struct arena a = {0};
	int found = sql_get(db, Q_DELIVERY_GET, &(struct delivery_get_in){id},
			    &row, &a, e);

	if (found == 0)
		found = err_set(e, ERR_NOTFOUND, "there is no delivery %s",
				quoted(id).text);
	if (found == 1)
		found = delivery_add(
			db,
			&(struct delivery_new){.channel = row.channel,
					       .conversation = row.conversation,
					       .ordering_key = row.ordering_key,
					       .agent = row.agent,
					       .session = row.session,
					       .reply_to = row.reply_to,
					       .body = row.body,
					       .resend_of = row.id,
					       .max_age_ms = OPT_NONE},
			now, made, e);
	if (found >= 0)
		found = sql_exec(db, Q_MEDIA_USE_COPY,
				 &(struct media_use_copy_in){id, made->text},
				 e);
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

/* --- transitions ------------------------------------------------------ */

static int log_delivery_event(struct sql *db, const struct delivery_end *d,
			      const char *state, int64_t now, struct err *e)
{
	struct host_event_delivery_in event = {
		.at = now,
		.id = d->id,
		.agent = d->agent,
		.channel = d->channel,
		.state = state,
		.attempt = d->attempts,
		.remote_status = d->remote_status,
		.detail = d->detail,
	};

	return sql_exec(db, Q_HOST_EVENT_DELIVERY, &event, e) < 0 ? -1 : 0;
}

/* Failed attempts are stored one by one. */
static int note_attempt(struct sql *db, const struct delivery_end *d,
			const char *state, int64_t now, struct err *e)
{
	struct delivery_attempt_add_in row = {
		.id = d->attempt_id,
		.delivery = d->seq,
		.n = d->attempts,
		.outcome = state,
		.remote_status = d->remote_status,
		.detail = d->detail,
		.started_at = d->started_at,
		.ended_at = now,
	};

	if (!d->attempt_id || d->from != DELIVERY_SENDING ||
	    d->event == DELIVERY_EV_ACK)
		return 0;
	return sql_exec(db, Q_DELIVERY_ATTEMPT_ADD, &row, e) < 0 ? -1 : 0;
}

/* Does it block its queue? Also while its outcome is being determined. */
static bool stays_queued(const struct delivery_transition *st,
			 enum delivery_event event)
{
	return delivery_state_is_queued(st->to) || event == DELIVERY_EV_LOSE;
}

/* The position before the transition. A delivery in flight is always the next
 * one; for the others, which are rare, the position is read. */
static int delivery_place(struct sql *db, const struct delivery_end *d,
			  struct delivery_position_row *at, struct err *e)
{
	*at = (struct delivery_position_row){true, true};
	if (d->from == DELIVERY_SENDING)
		return 0;
	return sql_get(db, Q_DELIVERY_POSITION,
		       &(struct delivery_position_in){d->seq}, at, NULL, e) < 0
		       ? -1
		       : 0;
}

/* Whether it is the next one when it is queued: as before, or if there is
 * none. */
static int becomes_next(struct sql *db, const struct delivery_end *d,
			const struct delivery_position_row *at, struct err *e)
{
	struct delivery_key_busy_row busy = {0};

	if (at->is_queued)
		return at->is_next;
	if (d->ordering_key &&
	    sql_get(db, Q_DELIVERY_KEY_BUSY,
		    &(struct delivery_key_busy_in){d->ordering_key}, &busy,
		    NULL, e) < 0)
		return -1;
	return busy.n == 0;
}

static int change_delivery_state(struct sql *db, const struct delivery_end *d,
				 const struct delivery_transition *st,
				 int64_t now, struct err *e)
{
	struct delivery_move_in in = {
		.seq = d->seq,
		.from_state = delivery_state_name(d->from),
		.to_state = delivery_state_name(st->to),
		.attempt_id = d->attempt_id,
		.due_at = d->due_at,
		.is_queued = stays_queued(st, d->event),
		.remote_status = d->remote_status,
		.detail = d->detail,
		.remote_id = d->remote_id,
		.done_at = delivery_state_is_over(st->to) ? now : OPT_NONE,
	};
	struct delivery_position_row at;
	int head = 0, n;

	if (delivery_place(db, d, &at, e))
		return -1;
	if (in.is_queued)
		head = becomes_next(db, d, &at, e);
	if (head < 0)
		return -1;
	in.is_next = head == 1;
	n = sql_exec(db, Q_DELIVERY_MOVE, &in, e);
	if (n <= 0 || in.is_queued || !at.is_next || !d->ordering_key)
		return n;
	return sql_exec(db, Q_DELIVERY_PROMOTE,
			&(struct delivery_promote_in){d->ordering_key}, e) < 0
		       ? -1
		       : n;
}

int delivery_record(struct sql *db, const struct delivery_end *d, int64_t now,
		    struct err *e)
{
	struct delivery_transition st = delivery_fsm(d->from, d->event);
	const char *word = delivery_state_name(st.to);
	int n;

	assert(st.allowed);
	n = change_delivery_state(db, d, &st, now, e);
	if (n <= 0)
		return n;
	if (note_attempt(db, d, word, now, e) ||
	    (d->event != DELIVERY_EV_REVIEW &&
	     log_delivery_event(db, d, word, now, e)))
		return -1;
	return 1;
}

struct delivery_end delivery_end_of(const struct delivery_row *row)
{
	return (struct delivery_end){
		.seq = row->seq,
		.id = row->id,
		.channel = row->channel,
		.ordering_key = row->ordering_key,
		.agent = row->agent,
		.attempt_id = row->attempt_id,
		.attempts = row->attempts,
		.started_at = row->sent_at,
		.from = (enum delivery_state)delivery_state_from(row->state),
		.due_at = OPT_NONE,
		.remote_status = row->remote_status,
		.detail = row->detail,
	};
}

/* Why it is not possible, and what to do. */
static int not_wanted(const struct delivery_row *row, enum delivery_event what,
		      struct err *e)
{
	if (what == DELIVERY_EV_DISCARD && !strcmp(row->state, "discarded"))
		return err_set(e, ERR_CONFLICT,
			       "delivery %s is already discarded", row->id);
	if (strcmp(row->state, "delivered") != 0)
		return err_set(e, ERR_CONFLICT,
			       "delivery %s is %s; wait for the result of this "
			       "attempt",
			       row->id, row->state);
	return err_set(e, ERR_CONFLICT,
		       what == DELIVERY_EV_DISCARD
			       ? "delivery %s has already been delivered"
			       : "delivery %s has already been delivered; "
				 "'skep delivery resend' sends a copy",
		       row->id);
}

/* The decision of the user is final; the reason of the failure is kept. */
static const char *discarded(const struct delivery_row *row, struct arena *a)
{
	bool stuck = !strcmp(row->state, "dead") ||
		     !strcmp(row->state, "unknown");

	if (!stuck || !row->detail)
		return "a person discarded it";
	return arena_printf(a, "a person discarded it; it was %s: %s",
			    row->state, row->detail);
}

int delivery_operate(struct sql *db, const char *id, enum delivery_event what,
		     int64_t now, struct delivery_row *row, struct arena *a,
		     struct err *e)
{
	struct delivery_end d;
	int rc = sql_get(db, Q_DELIVERY_GET, &(struct delivery_get_in){id}, row,
			 a, e);

	if (rc == 0)
		return err_set(e, ERR_NOTFOUND, "there is no delivery %s",
			       quoted(id).text);
	if (rc < 0)
		return -1;
	d = delivery_end_of(row);
	d.event = what;
	if (!delivery_fsm(d.from, what).allowed)
		return not_wanted(row, what, e);
	if (what == DELIVERY_EV_DISCARD)
		d.detail = discarded(row, a);
	if (what == DELIVERY_EV_RETRY) {
		d.due_at = now;
		d.remote_status = OPT_NONE;
		d.detail = "retried on request";
		if (sql_exec(db, Q_DELIVERY_RENEW,
			     &(struct delivery_renew_in){row->seq}, e) < 0)
			return -1;
		if (d.from == DELIVERY_PENDING && !row->is_next)
			return 0; /* it is sent when it is the next one */
	}
	return delivery_record(db, &d, now, e) < 0 ? -1 : 0;
}

/* --- claims ----------------------------------------------------------- */

static int expire(struct sql *db, const struct delivery_claim *t,
		  const struct delivery_claim_row *r, struct err *e)
{
	struct delivery_end d = {
		.seq = r->seq,
		.id = r->id,
		.channel = t->channel,
		.ordering_key = r->ordering_key,
		.agent = r->agent,
		.attempts = r->attempts,
		.from = DELIVERY_PENDING,
		.event = DELIVERY_EV_EXPIRE,
		.started_at = OPT_NONE,
		.due_at = OPT_NONE,
		.remote_status = OPT_NONE,
		.detail = "too old",
	};

	return delivery_record(db, &d, t->now, e);
}

static int ready(struct sql *db, const struct delivery_claim *t,
		 struct delivery_claim_row **found, struct arena *a,
		 struct err *e)
{
	struct delivery_ready_to_in to = {t->channel, t->conversation, t->now,
					  t->max};
	struct delivery_ready_in any = {t->channel, t->now, t->max};

	if (t->conversation)
		return sql_collect(db, Q_DELIVERY_READY_TO, &to, t->max, found,
				   a, e);
	return sql_collect(db, Q_DELIVERY_READY, &any, t->max, found, a, e);
}

int delivery_claim(struct sql *db, const struct delivery_claim *t,
		   struct claimed_delivery **rows, struct arena *a,
		   struct err *e)
{
	struct delivery_claim_row *found;
	int got = ready(db, t, &found, a, e), n = 0;

	if (got <= 0)
		return got;
	*rows = arena_alloc(a, (size_t)got * sizeof **rows);
	for (int i = 0; i < got; i++) {
		struct claimed_delivery *k = &(*rows)[n];
		struct delivery_claim_in claim;

		if (found[i].expires_at != OPT_NONE &&
		    found[i].expires_at <= t->now) {
			if (expire(db, t, &found[i], e) < 0)
				return -1;
			continue;
		}
		k->row = found[i];
		k->attempt = id_new(ID_ATTEMPT);
		claim = (struct delivery_claim_in){
			.seq = k->row.seq,
			.attempt_id = k->attempt.text,
			.epoch = t->epoch,
			.lease_until = t->now + t->lease_ms,
			.now = t->now,
		};
		if (sql_exec(db, Q_DELIVERY_CLAIM, &claim, e) < 0)
			return -1;
		n++;
	}
	return n;
}
