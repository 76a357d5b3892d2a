#include "schema/control/channel/channel_delete.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/channel/delivery.h"
#include "schema/control/control.h"
#include "schema/control_queries.h"

#include <stdio.h>
#include <string.h>

#define UNDER_WAY 100000 /* rows per step: every conversation counts as one */

int channel_delete_begin(struct sql *db, const char *name, const char *by,
			 struct err *e)
{
	int n = sql_exec(db, Q_CHANNEL_MARK_DELETING,
			 &(struct channel_mark_deleting_in){name, clock_now()},
			 e);

	if (n == 0)
		return err_set(e, ERR_NOTFOUND, "there is no channel '%s'",
			       quoted(name).text);
	if (n < 0)
		return -1;
	return control_audit(db, by, "channel.rm", name, NULL, e);
}

/* --- what was to go out ----------------------------------------------- */

static int dead_letter(struct sql *db, const char *name,
		       const struct delivery_left_row *row, struct err *e)
{
	static const char why[] = "the channel was removed";
	int64_t now = clock_now();
	struct host_event_delivery_in event = {
		.at = now,
		.id = row->id,
		.agent = row->agent,
		.channel = name,
		.state = "dead",
		.attempt = row->attempts,
		.remote_status = OPT_NONE,
		.detail = why,
	};

	if (sql_exec(db, Q_DELIVERY_LEFT_DEAD,
		     &(struct delivery_left_dead_in){row->seq, why, now},
		     e) < 0)
		return -1;
	return sql_exec(db, Q_HOST_EVENT_DELIVERY, &event, e) < 0 ? -1 : 0;
}

/* Deletes up to `count` of those queued behind the next one of a key; returns
 * their number. */
static int dead_letter_behind(struct sql *db, const char *name,
			      const char *ordering_key, int64_t count,
			      struct err *e)
{
	struct delivery_left_behind_in in = {ordering_key, name, count};
	struct delivery_left_row *rows;
	struct arena a = {0};
	int n = ordering_key && count > 0
			? sql_collect(db, Q_DELIVERY_LEFT_BEHIND, &in,
				      (int)count, &rows, &a, e)
			: 0;

	for (int i = 0; i < n; i++)
		if (dead_letter(db, name, &rows[i], e))
			n = -1;
	arena_fini(&a);
	return n;
}

/* Makes some pending deliveries dead; returns their number. The next one of a
 * key is the last, since the others are found through it. */
static int dead_letter_some(struct sql *db, const char *name, int64_t count,
			    struct err *e)
{
	struct delivery_left_first_in in = {name, count};
	struct delivery_left_row *rows;
	struct arena a = {0};
	int64_t left = count;
	int n = sql_collect(db, Q_DELIVERY_LEFT_FIRST, &in, (int)count, &rows,
			    &a, e);

	for (int i = 0; i < n && left > 0; i++) {
		int behind = dead_letter_behind(db, name, rows[i].ordering_key,
						left, e);

		left -= behind;
		if (behind < 0 ||
		    (left > 0 && dead_letter(db, name, &rows[i], e)))
			n = -1;
		left -= left > 0;
	}
	arena_fini(&a);
	return n < 0 ? -1 : (int)(count - left);
}

/* Handles deliveries in flight: returns 1 if there are any. Their queues end
 * here too. */
static int dead_letter_after(struct channel_deletion *r, struct sql *db,
			     const char *name, int64_t count, struct err *e)
{
	struct delivery_left_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_DELIVERY_LEFT_SENDING,
			    &(struct delivery_left_sending_in){name, UNDER_WAY},
			    UNDER_WAY, &rows, &a, e);
	int dead = 0;

	for (int i = 0; i < n && dead == 0; i++)
		dead = dead_letter_behind(db, name, rows[i].ordering_key, count,
					  e);
	arena_fini(&a);
	r->waits = n > 0 && dead == 0;
	if (n > 0) /* it may become unknown */
		r->held = 0;
	return n < 0 || dead < 0 ? -1 : n > 0;
}

/* It is unknown whether they arrived, and another channel of this name must not
 * send them unasked: from now on they wait for a user. */
static int mark_some_for_review(struct channel_deletion *r, struct sql *db,
				const char *name, int64_t count, struct err *e)
{
	struct delivery_left_unknown_in in = {name, r->held, count};
	struct delivery_left_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_DELIVERY_LEFT_UNKNOWN, &in, (int)count, &rows,
			    &a, e);
	int rc = n;

	for (int i = 0; i < n && rc >= 0; i++) {
		rc = sql_exec(db, Q_DELIVERY_LEFT_REVIEW,
			      &(struct delivery_left_review_in){rows[i].seq},
			      e);
		if (rc >= 0 && rows[i].was_next)
			rc = sql_exec(db, Q_DELIVERY_PROMOTE,
				      &(struct delivery_promote_in){
					      rows[i].ordering_key},
				      e);
		r->held = rows[i].seq;
	}
	arena_fini(&a);
	return rc < 0 ? -1 : n;
}

/* --- conversations ---------------------------------------------------- */

/* Deletes some deliveries of a conversation, and the conversation after the
 * last one. */
static int delete_conversation(
	struct channel_deletion *r, struct sql *db,
	const struct conversation_first_row *conversation, int64_t count,
	struct err *e)
{
	struct delivery_conversation_next_in next = {conversation->id, 0,
						     count};
	struct delivery_conversation_next_row found;

	if (strcmp(r->conversation, conversation->id) != 0) {
		snprintf(r->conversation, sizeof r->conversation, "%s",
			 conversation->id);
		r->seq = 0;
	}
	next.after = r->seq;
	if (sql_get(db, Q_DELIVERY_CONVERSATION_NEXT, &next, &found, NULL, e) <
	    0)
		return -1;
	if (found.n > 0 &&
	    sql_exec(db, Q_DELIVERY_KEEP_ADDRESS,
		     &(struct delivery_keep_address_in){conversation->id,
							conversation->address,
							r->seq, found.last},
		     e) < 0)
		return -1;
	r->seq = found.last;
	if (found.n < count &&
	    sql_exec(db, Q_CONVERSATION_DELETE,
		     &(struct conversation_delete_in){conversation->id}, e) < 0)
		return -1;
	return (int)found.n + 1;
}

static int delete_conversations(struct channel_deletion *r, struct sql *db,
				const char *name, int64_t count, struct err *e)
{
	struct conversation_first_row conversation;
	struct arena a = {0};
	int n = sql_get(db, Q_CONVERSATION_FIRST,
			&(struct conversation_first_in){name}, &conversation,
			&a, e);

	if (n == 1)
		n = delete_conversation(r, db, &conversation, count, e);
	arena_fini(&a);
	return n;
}

static int remove_row(struct channel_deletion *r, struct sql *db,
		      const char *name, struct err *e)
{
	struct channel_row row;
	struct arena a = {0};
	int n = sql_get(db, Q_CHANNEL_GET, &(struct channel_get_in){name}, &row,
			&a, e);

	r->had_log = n == 1 && !strcmp(row.kind, "plugin");
	if (n >= 0)
		n = sql_exec(db, Q_CHANNEL_DELETE,
			     &(struct channel_delete_in){name}, e);
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

int channel_delete_step(struct channel_deletion *r, struct sql *db,
			const char *name, int64_t count, struct err *e)
{
	int n = sql_exec(db, Q_INBOUND_REMOVE,
			 &(struct inbound_remove_in){name, count}, e);

	r->waits = false;
	if (n == 0)
		n = mark_some_for_review(r, db, name, count, e);
	if (n == 0)
		n = dead_letter_some(db, name, count, e);
	if (n == 0)
		n = dead_letter_after(r, db, name, count, e);
	if (n == 0)
		n = delete_conversations(r, db, name, count, e);
	return n == 0 ? remove_row(r, db, name, e) : n;
}

int channel_delete_lost(struct sql *db, const char *name, struct err *e)
{
	struct delivery_left_row *rows;
	struct delivery_row row;
	struct arena a = {0};
	int n = sql_collect(db, Q_DELIVERY_LEFT_SENDING,
			    &(struct delivery_left_sending_in){name, UNDER_WAY},
			    UNDER_WAY, &rows, &a, e);
	int rc = n;

	for (int i = 0; i < n && rc >= 0; i++) {
		struct delivery_end d;

		rc = sql_get(db, Q_DELIVERY_GET,
			     &(struct delivery_get_in){rows[i].id}, &row, &a,
			     e);
		if (rc < 0)
			break;
		d = delivery_end_of(&row);
		d.event = DELIVERY_EV_LOSE;
		d.detail = "skepd died while it was on its way";
		rc = delivery_record(db, &d, clock_now(), e);
	}
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

int channel_check_not_deleting(const struct channel_row *row, struct err *e)
{
	if (!row->state || strcmp(row->state, CHANNEL_DELETING) != 0)
		return 0;
	return err_set(e, ERR_BUSY,
		       "channel '%s' is being removed; wait until "
		       "this is complete",
		       row->name);
}
