#include "supervisor/core/attachments.h"

#include "supervisor/core/supervisor.h"

int supervisor_attachments_count(struct supervisor *s, struct err *e)
{
	struct media_total_row total = {0};
	int found = sql_get(s->db, Q_MEDIA_TOTAL, NULL, &total, NULL, e);

	s->attachments.bytes = total.bytes;
	s->attachments.stale = found < 0;
	return found < 0 ? -1 : 0;
}

/* The attachments that were counted are not stored. */
static void mark_stale(void *arg)
{
	struct supervisor *s = arg;

	s->attachments.stale = true;
}

static int store_attachments(struct supervisor *s, struct media_limits l,
			     cJSON *body, struct err *e)
{
	int64_t room;

	if (s->attachments.stale && supervisor_attachments_count(s, e))
		return -1;
	l.room = room = s->config.channel_media_total - s->attachments.bytes;
	if (txn_begin(&s->txn, e) || attachments_store(s->db, body, &l, e))
		return -1;
	txn_on_rollback(&s->txn, mark_stale, s);
	s->attachments.bytes += room - l.room;
	return 0;
}

int supervisor_attach(struct supervisor *s, struct media_limits limits,
		      cJSON *body, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, store_attachments(s, limits, body, e), e);
}
