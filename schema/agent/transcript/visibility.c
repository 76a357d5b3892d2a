#include "schema/agent/transcript/visibility.h"

#include "schema/agent/transcript/event.h"

#include <string.h>

static int load_shown(struct visible *v, int64_t session,
		      struct visible_shown *s, struct err *e)
{
	struct session_row row;
	int found;

	arena_reset(&s->mem);
	s->session = 0;
	found = sql_get(v->file->db, Q_SESSION_BY_ID,
			&(struct session_by_id_in){session}, &row, &s->mem, e);
	if (found < 0)
		return -1;
	if (found == 0)
		s->is_wanted = false;
	else if (v->only)
		s->is_wanted = session == v->only;
	else if (v->archived)
		s->is_wanted = strcmp(row.status, "deleted") != 0;
	else
		s->is_wanted = strcmp(row.status, "active") == 0 &&
			       !row.is_ephemeral;
	if (s->is_wanted &&
	    history_load(v->file, session, v->view, &s->history, &s->mem, e))
		return -1;
	s->session = session;
	return 0;
}

/* Ranges ascend, within a session and from a base to its forks. */
static bool has_event(const struct history *h, int64_t pos)
{
	int64_t seq = event_seq(pos);
	int lo = 0, hi = h->count;

	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;

		if (h->segments[mid].last < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < h->count && h->segments[lo].first <= seq &&
	       h->segments[lo].session == event_session(pos);
}

/* 1, 0 or -1. */
static int session_shows(struct visible *v, int64_t session, int64_t pos,
			 struct err *e)
{
	struct visible_shown *s = &v->shown[session % VISIBLE_CACHED];

	if (s->session != session && load_shown(v, session, s, e))
		return -1;
	return s->is_wanted && has_event(&s->history, pos);
}

/* A fork may show events that its base has rewound, or that belong to a deleted
 * base. */
static int fork_shows(struct visible *v, int64_t pos, int64_t *who,
		      struct err *e)
{
	struct search_forks_in in = {event_session(pos)};
	struct search_forks_row row;
	struct sql_rows it = sql_rows(v->file->db, Q_SEARCH_FORKS, &in);
	int shows = 0;

	while (shows == 0 && sql_next(&it, &row)) {
		*who = row.id;
		shows = session_shows(v, row.id, pos, e);
	}
	return sql_end(&it, shows < 0 ? &(struct err){0} : e) ? -1 : shows;
}

int visible_who(struct visible *v, int64_t pos, int64_t *who, struct err *e)
{
	int shows;

	*who = v->only ? v->only : event_session(pos);
	shows = session_shows(v, *who, pos, e);
	return shows == 0 && !v->only ? fork_shows(v, pos, who, e) : shows;
}

void visible_fini(struct visible *v)
{
	for (int i = 0; i < VISIBLE_CACHED; i++)
		arena_fini(&v->shown[i].mem);
}
