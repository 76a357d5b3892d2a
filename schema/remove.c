#include "schema/remove.h"

#include "base/clock.h"
#include "base/text.h"
#include "schema/control.h"
#include "schema/control_queries.h"

#include <stdio.h>
#include <string.h>

int channel_remove_begin(struct sql *db, const char *name, const char *by,
			 struct err *e)
{
	int n = sql_exec(db, Q_CHANNEL_MARK_REMOVING,
			 &(struct channel_mark_removing_in){name, clock_now()},
			 e);

	if (n == 0)
		return err_set(e, ERR_NOTFOUND, "there is no channel %s",
			       quoted(name).text);
	if (n < 0)
		return -1;
	return control_audit(db, by, "channel.rm", name, NULL, e);
}

/* Some deliveries of a conversation; the conversation itself after the last. */
static int remove_talk(struct removal *r, struct sql *db,
		       const struct conversation_first_row *talk, int64_t count,
		       struct err *e)
{
	struct delivery_said_next_in next = {talk->id, 0, count};
	struct delivery_said_next_row found;

	if (strcmp(r->talk, talk->id) != 0) {
		snprintf(r->talk, sizeof r->talk, "%s", talk->id);
		r->seq = 0;
	}
	next.after = r->seq;
	if (sql_get(db, Q_DELIVERY_SAID_NEXT, &next, &found, NULL, e) < 0)
		return -1;
	if (found.n > 0 &&
	    sql_exec(db, Q_DELIVERY_KEEP_ADDRESS,
		     &(struct delivery_keep_address_in){talk->id, talk->address,
							r->seq, found.last},
		     e) < 0)
		return -1;
	r->seq = found.last;
	if (found.n < count &&
	    sql_exec(db, Q_CONVERSATION_DELETE,
		     &(struct conversation_delete_in){talk->id}, e) < 0)
		return -1;
	return (int)found.n + 1;
}

int channel_remove_some(struct removal *r, struct sql *db, const char *name,
			int64_t count, struct err *e)
{
	struct conversation_first_row talk;
	struct arena a = {0};
	int n = sql_exec(db, Q_INBOUND_REMOVE,
			 &(struct inbound_remove_in){name, count}, e);

	if (n != 0)
		return n;
	n = sql_get(db, Q_CONVERSATION_FIRST,
		    &(struct conversation_first_in){name}, &talk, &a, e);
	if (n == 1)
		n = remove_talk(r, db, &talk, count, e);
	else if (n == 0 && sql_exec(db, Q_CHANNEL_DELETE,
				    &(struct channel_delete_in){name}, e) < 0)
		n = -1;
	arena_fini(&a);
	return n;
}

int channel_check_stays(const struct channel_row *row, struct err *e)
{
	if (!row->state || strcmp(row->state, CHANNEL_REMOVING) != 0)
		return 0;
	return err_set(e, ERR_BUSY,
		       "channel %s is being removed; when it is gone there may "
		       "be another of that name",
		       row->name);
}
