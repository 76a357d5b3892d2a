#include "schema/control/cursor.h"

#include "lib/base/text.h"

#include <string.h>

/* Greater than every id. */
#define NEWEST "~"

int page_before(enum id_kind kind, const char *before, const char **out,
		struct err *e)
{
	if (before && !id_is(kind, before))
		return err_set(e, ERR_USAGE,
			       "before: '%s' is not an id (%s_...)",
			       quoted(before).text, id_prefix(kind));
	*out = before ? before : NEWEST;
	return 0;
}

int page_before_delivery(struct sql *db, const char *before, int64_t *seq,
			 struct err *e)
{
	struct delivery_seq_in key;
	struct delivery_seq_row row;
	int found;

	*seq = INT64_MAX;
	if (page_before(ID_DELIVERY, before, &key.id, e))
		return -1;
	if (!before)
		return 0;
	found = sql_get(db, Q_DELIVERY_SEQ, &key, &row, NULL, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "before: there is no delivery '%s'", before);
	if (found == 1)
		*seq = row.seq;
	return found < 0 ? -1 : 0;
}

/* The current position of the conversation. */
static int stands_now(struct sql *db, struct conversation_filter *in,
		      struct arena *a, struct err *e)
{
	struct conversation_row row;
	int found = sql_get(db, Q_CONVERSATION_GET,
			    &(struct conversation_get_in){in->before_id}, &row,
			    a, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "before: there is no conversation '%s'",
			       in->before_id);
	if (found == 1)
		in->before = row.last_message_at;
	return found < 0 ? -1 : 0;
}

int page_before_conversation(struct sql *db, const char *before,
			     struct conversation_filter *in, struct arena *a,
			     struct err *e)
{
	const char *dot = before ? strchr(before, '.') : NULL;

	in->before = INT64_MAX;
	if (page_before(ID_CONVERSATION, dot ? dot + 1 : before, &in->before_id,
			e) ||
	    (dot &&
	     text_i64("before", arena_textn(a, before, (size_t)(dot - before)),
		      0, INT64_MAX, &in->before, e)))
		return -1;
	return before && !dot ? stands_now(db, in, a, e) : 0;
}
