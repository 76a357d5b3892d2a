#include "schema/control/lists.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/buf.h"
#include "schema/control/run.h"
#include "schema/control_queries.h"

static const struct list_row {
	enum lists_kind kind;
	const char *filters;
	unsigned query;
} rows[] = {
#define LIST(kind, filters, query) {LISTS_##kind, filters, Q_##query},
#include "schema/control/lists.def"
#undef LIST
};

/* A list: its names for users, its filter, and the query of one row. */
static const struct {
	const char *what;
	const struct shape *filter;
	unsigned get;
} kinds[LISTS_KINDS] = {
	[LISTS_RUNS] = {"runs", &run_filter_shape, Q_RUN_GET},
	[LISTS_APPROVALS] = {"approvals", &approval_filter_shape,
			     Q_APPROVAL_GET},
	[LISTS_DELIVERIES] = {"deliveries", &delivery_filter_shape,
			      Q_DELIVERY_GET},
	[LISTS_INBOUND] = {"inbound messages", &inbound_filter_shape,
			   Q_INBOUND_GET},
	[LISTS_CONVERSATIONS] = {"conversations", &conversation_filter_shape,
				 Q_CONVERSATION_GET},
};

/* The states that one index covers, as in lists.def. */
static const char *state_set(enum lists_kind kind, const char *state)
{
	int s;

	if (kind == LISTS_DELIVERIES)
		return !strcmp(state, "pending") || !strcmp(state, "sending") ||
				       !strcmp(state, "unknown")
			       ? ":open"
			       : ":ended";
	if (kind != LISTS_RUNS)
		return "";
	s = run_state_from(state);
	if (s == RUN_QUEUED)
		return ":queued";
	return s >= 0 && run_state_lives((enum run_state)s) ? ":active"
							    : ":ended";
}

static bool is_filter(const struct field *f)
{
	return f->type == FIELD_text && strncmp(f->name, "before", 6) != 0;
}

/* The names of the given filters; with_set: including the set of states. */
static void name_filters(struct buf *b, enum lists_kind kind,
			 const void *filter, bool with_set)
{
	const struct shape *s = kinds[kind].filter;

	buf_adds(b, "");
	for (size_t i = 0; i < s->nfields; i++) {
		const struct field *f = &s->fields[i];
		const char *value = is_filter(f)
					    ? *(const char *const *)field_in(
						      f, filter)
					    : NULL;

		if (!value)
			continue;
		if (b->n)
			buf_addc(b, ' ');
		buf_adds(b, f->name);
		if (with_set && !strcmp(f->name, "state"))
			buf_adds(b, state_set(kind, value));
	}
}

/* A set in the form for users: "agent+state". */
static void add_set(struct buf *b, const char *filters)
{
	const char *colon = strchr(filters, ':');

	for (const char *p = filters; *p; p++) {
		if (p == colon)
			p += strcspn(p, " ");
		if (!*p)
			break;
		buf_addc(b, *p == ' ' ? '+' : *p);
	}
}

static void add_sets(struct buf *b, enum lists_kind kind)
{
	char last[64] = "";

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct buf set = BUF_MAX(sizeof last);

		buf_adds(&set, "");
		add_set(&set, rows[i].filters);
		if (rows[i].kind == kind && set.n && strcmp(set.p, last) != 0) {
			buf_adds(b, b->n ? ", " : "");
			buf_adds(b, set.p);
			snprintf(last, sizeof last, "%s", set.p);
		}
		buf_fini(&set);
	}
}

static int reject(enum lists_kind kind, const void *filter, struct err *e)
{
	struct buf given = BUF_MAX(256), sets = BUF_MAX(1024);

	name_filters(&given, kind, filter, false);
	for (char *p = given.p; p && *p; p++)
		*p = *p == ' ' ? '+' : *p;
	add_sets(&sets, kind);
	err_set(e, ERR_USAGE,
		"%s cannot be filtered by %s; allowed filters: %s",
		kinds[kind].what, given.p, sets.p);
	buf_fini(&given);
	buf_fini(&sets);
	return -1;
}

static int lists_query(enum lists_kind kind, const void *filter,
		       unsigned *query, struct err *e)
{
	const struct delivery_filter *d = filter;
	struct buf given = BUF_MAX(256), plain = BUF_MAX(256);
	bool found = kind == LISTS_DELIVERIES && d->sources;

	*query = Q_DELIVERY_IDS_RUN; /* of one run: can be combined with any
				      * other filter */
	name_filters(&given, kind, filter, true);
	name_filters(&plain, kind, filter, false);
	for (size_t i = 0; !found && i < sizeof rows / sizeof rows[0]; i++) {
		found = rows[i].kind == kind &&
			(!strcmp(rows[i].filters, given.p) ||
			 !strcmp(rows[i].filters, plain.p));
		*query = rows[i].query;
	}
	buf_fini(&given);
	buf_fini(&plain);
	return found ? 0 : reject(kind, filter, e);
}

int lists_open(struct lists *it, struct sql *db, enum lists_kind kind,
	       const void *filter, struct err *e)
{
	unsigned query;

	*it = (struct lists){.db = db, .kind = kind};
	if (lists_query(kind, filter, &query, e))
		return -1;
	it->ids = sql_rows(db, query, filter);
	return 0;
}

/* A row that was deleted after its id was read is left out. */
bool lists_next(struct lists *it, void *row)
{
	struct run_ids_row id; /* all of these queries yield an id */
	int found = 0;

	while (found == 0 && sql_next(&it->ids, &id)) {
		arena_reset(&it->arena);
		found = sql_get(it->db, kinds[it->kind].get, &id, row,
				&it->arena, &it->err);
	}
	it->failed |= found < 0;
	return found > 0;
}

int lists_close(struct lists *it, struct err *e)
{
	int rc = sql_end(&it->ids, e);

	if (it->failed && rc == 0) {
		*e = it->err;
		rc = -1;
	}
	arena_fini(&it->arena);
	return rc;
}
