#include "schema/agent/transcript/tail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "schema/agent/transcript/run_span.h"
#include "schema/agent/transcript/session.h"

#define PAGE          64
#define POSITIONS_MAX 100000 /* parts between the oldest open one and the end */
#define REV_CLOSED    INT64_MAX

/* A part that was reported. */
struct known {
	int64_t seq;
	int64_t idx;
	int64_t reported; /* characters of its text */
	int64_t rev;
	uint64_t values; /* digest of input, output and meta; 0: unknown */
	bool is_open;
};

struct tail {
	char *key;
	char *run; /* NULL: all */
	int64_t session;
	bool placed;          /* seq is the position to continue from */
	bool has_parts;       /* the cursor contained the state of the parts */
	struct run_span span; /* of the run */
	int64_t first;        /* first seq that may be of interest */
	int64_t seq;          /* last event that was reported or skipped */
	int64_t message; /* last message that was reported; new parts belong to
			  * it */
	struct known *known;
	size_t count, cap;
	struct arena arena; /* of one read */
};

static struct known *remember_part(struct tail *t, int64_t seq, int64_t idx)
{
	if (t->count == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 4;
		t->known = realloc(t->known, t->cap * sizeof *t->known);
		if (!t->known)
			abort();
	}
	t->known[t->count] = (struct known){.seq = seq, .idx = idx};
	return &t->known[t->count++];
}

static struct known *recall(struct tail *t, int64_t seq, int64_t idx)
{
	for (size_t i = t->count; i-- > 0;)
		if (t->known[i].seq == seq && t->known[i].idx == idx)
			return &t->known[i];
	return NULL;
}

/* Reads a number and the character after it, which must be one of `ends`. */
static int read_number(const char **p, const char *ends, int64_t *out)
{
	char *after;

	if (**p < '0' || **p > '9')
		return -1;
	*out = strtoll(*p, &after, 10);
	if (*out == INT64_MAX || (*after && !strchr(ends, *after)))
		return -1;
	*p = after;
	return 0;
}

static int parse_open(struct tail *t, const char **p, int64_t seq)
{
	int64_t idx, reported, rev;
	struct known *k;

	++*p;
	if (read_number(p, "-", &idx) || *(*p)++ != '-' ||
	    read_number(p, "-", &reported) || *(*p)++ != '-' ||
	    read_number(p, ",.", &rev))
		return -1;
	k = recall(t, seq, idx);
	if (!k)
		return -1;
	k->reported = reported;
	k->rev = rev;
	k->is_open = true;
	return 0;
}

/* "17.15:3,2-120-7": see the header. */
static int parse_cursor(struct tail *t, const char *p)
{
	int64_t seq, parts;

	if (read_number(&p, ".", &t->seq) || t->seq > EVENT_SEQ_MAX)
		return -1;
	if (t->seq > 0)
		t->placed = true;
	while (*p == '.') {
		p++;
		if (read_number(&p, ":", &seq) || *p++ != ':' ||
		    read_number(&p, ",.", &parts) || parts > POSITIONS_MAX ||
		    seq > t->seq || seq < t->message)
			return -1;
		for (int64_t i = 0; i < parts; i++)
			remember_part(t, seq, i)->rev = REV_CLOSED;
		while (*p == ',')
			if (parse_open(t, &p, seq))
				return -1;
		t->message = seq;
		t->has_parts = true;
	}
	return *p ? -1 : 0;
}

int tail_open(struct tail **out, const struct tail_options *want, struct err *e)
{
	struct tail *t = calloc(1, sizeof *t);

	if (!t)
		abort();
	t->key = strdup(want->session);
	t->run = want->run ? strdup(want->run) : NULL;
	t->placed = !want->run;
	if (want->after && *want->after && parse_cursor(t, want->after)) {
		tail_close(t);
		return err_set(e, ERR_USAGE,
			       "'%s' is not a cursor; use the id of the "
			       "last event of the stream, or a sequence "
			       "number",
			       quoted(want->after).text);
	}
	*out = t;
	return 0;
}

void tail_close(struct tail *t)
{
	if (!t)
		return;
	free(t->key);
	free(t->run);
	free(t->known);
	arena_fini(&t->arena);
	free(t);
}

static int find_session(struct tail *t, struct agent_file *f, struct err *e)
{
	struct session_row row;
	int found = 1;

	if (!t->session)
		found = session_get(f, t->key, &row, &t->arena, e);
	if (!t->session && found > 0)
		t->session = row.id;
	return found;
}

/* The message that may get new parts: the last one up to the position of the
 * reader. */
static int find_message(struct tail *t, struct agent_file *f, struct err *e)
{
	struct tail_last_message_in in = {event_pos(t->session, t->first),
					  event_pos(t->session, t->seq),
					  t->run};
	struct tail_last_message_row last;
	struct tail_last_part_row part = {OPT_NONE};
	int found = sql_get(f->db, Q_TAIL_LAST_MESSAGE, &in, &last, NULL, e);

	if (found == 0)
		found = sql_get(f->db, Q_TAIL_LAST_PART,
				&(struct tail_last_part_in){in.lo, in.hi},
				&part, NULL, e);
	else if (found > 0)
		part.pos = last.pos;
	if (found < 0)
		return -1;
	t->message = part.pos == OPT_NONE ? 0 : event_seq(part.pos);
	t->has_parts = true;
	return 0;
}

/* Finds the session and the position to start from. Returns 1, 0 if they do not
 * exist yet, or -1. */
static int place(struct tail *t, struct agent_file *f, struct err *e)
{
	int found = find_session(t, f, e);

	if (found > 0 && t->run)
		found = run_span_read(f, t->run, t->session, &t->span, e);
	if (found <= 0)
		return found;
	if (t->run)
		t->first = t->span.first;
	if (!t->placed || t->seq < t->first - 1)
		t->seq = t->first - 1;
	t->placed = true;
	return !t->has_parts && find_message(t, f, e) ? -1 : 1;
}

static uint64_t mix(uint64_t h, const char *text)
{
	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return (h ^ (text != NULL)) * UINT64_C(0x100000001b3);
}

static uint64_t values_of(const struct tail_part *p)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	return mix(mix(mix(h, p->input), p->output), p->meta) | 1;
}

/* Reports a part that changed. Returns the result of fn, or -1. */
static int report_part(struct tail *t, struct agent_file *f,
		       const struct tail_position *m, tail_fn *fn, void *arg,
		       struct err *e)
{
	int64_t seq = event_seq(m->pos);
	struct known *k = recall(t, seq, m->idx);
	struct tail_item item = {.seq = seq, .is_new = !k};
	struct tail_part row;
	uint64_t values;
	int found;

	if (!k)
		k = remember_part(t, seq, m->idx);
	item.at = k->reported;
	found = sql_get(f->db, Q_TAIL_PART_GET,
			&(struct tail_part_get_in){m->pos, m->idx, k->reported},
			&row, &t->arena, e);
	if (found <= 0)
		return found;
	values = values_of(&row);
	item.has_values = values != k->values;
	item.part = &row;
	k->reported = row.length;
	k->rev = row.rev;
	k->values = values;
	k->is_open = m->is_open;
	return fn(arg, t, &item) ? 1 : 0;
}

/* Reports parts of the messages from seq lo to hi that have changed since they
 * were reported. */
static int report_parts(struct tail *t, struct agent_file *f,
			const int64_t range[2], tail_fn *fn, void *arg,
			struct err *e)
{
	struct tail_positions_in in = {event_pos(t->session, range[0]),
				       event_pos(t->session, range[1]), t->run};
	struct tail_position *positions;
	int n = sql_collect(f->db, Q_TAIL_POSITIONS, &in, POSITIONS_MAX,
			    &positions, &t->arena, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; i < n && rc == 0; i++) {
		const struct known *k = recall(t, event_seq(positions[i].pos),
					       positions[i].idx);

		if (!k || (k->rev != positions[i].rev && k->rev != REV_CLOSED))
			rc = report_part(t, f, &positions[i], fn, arg, e);
	}
	return rc;
}

/* The oldest message whose parts may still change. */
static int64_t floor_of(const struct tail *t)
{
	int64_t floor = t->message;

	for (size_t i = 0; i < t->count; i++)
		if (t->known[i].is_open && t->known[i].seq < floor)
			floor = t->known[i].seq;
	return floor;
}

static void forget_closed(struct tail *t)
{
	int64_t floor = floor_of(t);
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->known[i].seq >= floor)
			t->known[n++] = t->known[i];
	t->count = n;
}

/* For a cursor that is a plain number: closed parts of the last message were
 * reported, open ones were not. */
static int assume_closed(struct tail *t, struct agent_file *f, struct err *e)
{
	struct tail_positions_in in = {event_pos(t->session, t->message),
				       event_pos(t->session, t->message),
				       t->run};
	struct tail_position *positions;
	int n = sql_collect(f->db, Q_TAIL_POSITIONS, &in, POSITIONS_MAX,
			    &positions, &t->arena, e);

	for (int i = 0; i < n; i++)
		if (!positions[i].is_open)
			remember_part(t, t->message, positions[i].idx)->rev =
				REV_CLOSED;
	return n < 0 ? -1 : 0;
}

static int report_event(struct tail *t, struct agent_file *f,
			const struct event *ev, tail_fn *fn, void *arg,
			struct err *e)
{
	int stop = 0;

	t->seq = ev->seq;
	if (t->run && (!ev->run || strcmp(ev->run, t->run) != 0))
		return 0;
	if (ev->session == t->session && strcmp(ev->type, "message") == 0)
		t->message = ev->seq;
	stop = fn(arg, t, &(struct tail_item){.event = ev, .seq = ev->seq});
	if (stop || ev->session != t->session)
		return stop;
	return report_parts(t, f, (int64_t[]){ev->seq, ev->seq}, fn, arg, e);
}

static int read_page(struct tail *t, struct agent_file *f, tail_fn *fn,
		     void *arg, struct err *e)
{
	int64_t last = t->run ? t->span.last : EVENT_SEQ_MAX;
	struct history h;
	struct page page;
	int rc;

	if (t->message) {
		rc = report_parts(t, f, (int64_t[]){floor_of(t), t->seq}, fn,
				  arg, e);
		if (rc)
			return rc;
	}
	if (t->seq >= last)
		return 0;
	if (history_load(f, t->session, HISTORY_LOG, &h, &t->arena, e) ||
	    history_forward(f, &h, t->seq, PAGE, &page, &t->arena, e))
		return -1;
	for (int i = 0; i < page.count; i++) {
		rc = report_event(t, f, &page.events[i], fn, arg, e);
		if (rc)
			return rc;
		forget_closed(t);
	}
	return page.more && t->seq < last;
}

int tail_read(struct tail *t, struct agent_file *f, tail_fn *fn, void *arg,
	      struct err *e)
{
	bool fresh = !t->has_parts;
	int rc;

	arena_reset(&t->arena);
	rc = place(t, f, e);
	if (rc <= 0)
		return rc;
	if (fresh && t->message && assume_closed(t, f, e))
		return -1;
	rc = read_page(t, f, fn, arg, e);
	forget_closed(t);
	return rc < 0 ? -1 : rc != 0;
}

void tail_cursor(const struct tail *t, struct buf *out)
{
	int64_t floor = floor_of(t), last = 0;

	buf_addf(out, "%" PRId64, t->seq);
	for (size_t i = 0; i < t->count; i++) {
		const struct known *k = &t->known[i];
		int parts = 0;

		if (k->seq < floor || k->seq <= last)
			continue;
		last = k->seq;
		for (size_t m = i; m < t->count; m++)
			parts += t->known[m].seq == last;
		buf_addf(out, ".%" PRId64 ":%d", last, parts);
		for (size_t m = i; m < t->count; m++)
			if (t->known[m].seq == last && t->known[m].is_open)
				buf_addf(out,
					 ",%" PRId64 "-%" PRId64 "-%" PRId64,
					 t->known[m].idx, t->known[m].reported,
					 t->known[m].rev);
	}
	if (t->message > last)
		buf_addf(out, ".%" PRId64 ":0", t->message);
}
