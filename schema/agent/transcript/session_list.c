#include "schema/agent/transcript/session.h"

#include "schema/agent_queries.h"

#define BEHIND_ALL "\xf4\x8f\xbf\xbf" /* U+10FFFF */

/* The query that has an index for these filters. */
static unsigned query_of(const struct session_list_filter *in)
{
	if (in->prefix)
		return Q_SESSION_IDS_PREFIX;
	if (in->status)
		return in->kind ? Q_SESSION_IDS_STATUS_KIND
				: Q_SESSION_IDS_STATUS;
	if (in->all)
		return in->kind ? Q_SESSION_IDS_ALL_KIND : Q_SESSION_IDS_ALL;
	return in->kind ? Q_SESSION_IDS_KIND : Q_SESSION_IDS;
}

static int list_by_index(struct agent_file *f,
			 const struct session_list_filter *in,
			 struct session_item **rows, struct arena *a,
			 struct err *e)
{
	struct session_ids_row *ids;
	struct session_item *out;
	int n = sql_collect(f->db, query_of(in), in, (int)in->count, &ids, a,
			    e);
	int k = 0, found = n < 0 ? -1 : 0;

	out = arena_alloc(a, (size_t)(n > 0 ? n : 1) * sizeof *out);
	for (int i = 0; i < n && found >= 0; i++) {
		found = sql_get(f->db, Q_SESSION_ITEM_GET, &ids[i], &out[k], a,
				e);
		k += found > 0;
	}
	*rows = out;
	return found < 0 ? -1 : k;
}

int session_list(struct agent_file *f, const struct session_filter *filter,
		 struct session_item **rows, struct arena *a, struct err *e)
{
	struct session_list_filter in = {
		.before = filter->before > 0 ? filter->before : INT64_MAX,
		.status = filter->status,
		.kind = filter->kind,
		.source = filter->source,
		.model = filter->model,
		.parent = filter->parent,
		.prefix = filter->prefix,
		.all = filter->all,
		.count = filter->count > 0 ? filter->count : 100,
	};

	if (in.source || in.model || in.parent)
		return sql_collect(f->db, Q_SESSION_LIST, &in, (int)in.count,
				   rows, a, e);
	if (in.prefix)
		in.prefix_end = arena_printf(a, "%s" BEHIND_ALL, in.prefix);
	return list_by_index(f, &in, rows, a, e);
}
