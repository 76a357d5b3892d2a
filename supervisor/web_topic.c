#include "supervisor/web_topic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define POLLS    100 /* topics that one tick of the timer lets look */
#define CATCH_NS (INT64_C(5) * 1000000) /* of one look, for those behind */

struct sub {
	struct topic *topic;
	struct sub *next, **link;
	struct http_stream *stream;
	struct tail *tail; /* NULL: abreast */
	uint64_t told;     /* digest of the last status */
	bool until_idle;
};

struct topic {
	struct web *web;
	struct topic *next, *before; /* ring */
	char *agent;
	char *session;
	char *run; /* NULL: the whole session */
	struct sub *abreast;
	struct sub *behind;
	struct tail *tail; /* of those abreast; NULL: there are none */
	struct buf cursor; /* where they stand, as text */
	struct buf status; /* as it is told */
	uint64_t status_digest;
	struct buf data; /* of the item at hand */
	struct sup_watch *host_watch, *run_watch;
	char watched[ID_SIZE];
	int64_t watched_in; /* state and attempt */
	bool over;          /* nothing more will come */
	bool asked;         /* a look is due after this turn */
	bool again;         /* look again soon: some are behind */
};

/* --- lists -------------------------------------------------------------- */

static void sub_unlink(struct sub *s)
{
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
}

static void sub_link(struct sub *s, struct sub **list)
{
	s->next = *list;
	s->link = list;
	if (s->next)
		s->next->link = &s->next;
	*list = s;
}

static void topic_link(struct topic *t)
{
	struct web *w = t->web;

	if (w->topics) {
		t->next = w->topics;
		t->before = w->topics->before;
		t->before->next = t->next->before = t;
	} else {
		t->next = t->before = t;
		w->topics = t;
	}
	w->ntopics++;
}

static void topic_free(struct topic *t)
{
	struct web *w = t->web;

	if (w->topics == t)
		w->topics = t->next == t ? NULL : t->next;
	t->next->before = t->before;
	t->before->next = t->next;
	w->ntopics--;
	sup_unwatch(t->host_watch);
	sup_unwatch(t->run_watch);
	tail_close(t->tail);
	buf_fini(&t->cursor);
	buf_fini(&t->status);
	buf_fini(&t->data);
	free(t->agent);
	free(t->session);
	free(t->run);
	free(t);
}

/* --- looking ------------------------------------------------------------ */

static void on_turn(void *arg, const struct err *failed);

static void topic_look(struct topic *t)
{
	if (t->asked)
		return;
	t->asked = true;
	sup_after(t->web->sup, on_turn, t);
}

static void on_news(void *arg)
{
	topic_look(arg);
}

/* Only a live run can be watched, so it is done anew whenever its state or its
 * attempt has changed. */
static void watch_run(struct topic *t, const struct run_row *row)
{
	int64_t now = row->attempt * RUN_STATES + run_state_from(row->state);

	if (t->run_watch && t->watched_in == now &&
	    strcmp(t->watched, row->id) == 0)
		return;
	sup_unwatch(t->run_watch);
	t->run_watch = sup_watch(t->web->sup, row->id, on_news, t);
	t->watched_in = now;
	snprintf(t->watched, sizeof t->watched, "%s", row->id);
}

static void add_member(struct buf *b, const char *name, const char *text)
{
	buf_addf(b, ",\"%s\":", name);
	if (text)
		json_add_string(b, text, strlen(text));
	else
		buf_adds(b, "null");
}

static void write_status(struct topic *t, const struct run_row *row)
{
	struct buf *b = &t->status;
	struct sup_live live = {0};

	buf_clear(b);
	buf_addf(b, "{\"state\":\"%s\"", row ? row->state : "idle");
	if (row) {
		add_member(b, "run", row->id);
		buf_addf(b, ",\"attempt\":%" PRId64, row->attempt);
		add_member(b, "reason", row->reason);
		add_member(b, "detail", row->detail);
		if (sup_live_get(t->web->sup, row->id, &live))
			add_member(b, "phase", live.phase);
	}
	buf_addc(b, '}');
	t->status_digest = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < b->n; i++)
		t->status_digest = (t->status_digest ^ (unsigned char)b->p[i]) *
				   UINT64_C(0x100000001b3);
}

/* The run, or the first in the session's line: its status, and whether there is
 * more to come. Read before the rows, so that a run that is over has written
 * all that it ever will. */
static int read_status(struct topic *t, struct err *e)
{
	struct sql *db = sup_db(t->web->sup);
	struct run_get_in in = {t->run};
	struct run_line_state_row line = {0};
	struct arena a = {0};
	struct run_row row;
	int found = 1;

	if (!t->run) {
		struct run_line_state_in key = {t->agent, t->session};

		found = sql_get(db, Q_RUN_LINE_STATE, &key, &line, &a, e);
		in.id = line.head;
	}
	if (found > 0)
		found = in.id ? sql_get(db, Q_RUN_GET, &in, &row, &a, e) : 0;
	if (found > 0)
		watch_run(t, &row);
	if (found >= 0)
		write_status(t, found ? &row : NULL);
	t->over = found == 0 ||
		  (found > 0 &&
		   run_state_is_over(
			   (enum run_state)run_state_from(row.state)));
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

/* --- telling ------------------------------------------------------------ */

static int sub_send(struct sub *s, const char *id, const char *event,
		    const struct buf *data)
{
	struct sse_event ev = {
		.id = id, .event = event, .data = data->p, .n = data->n};

	return http_stream_send(s->stream, &ev);
}

static void tell_status(struct sub *s)
{
	struct topic *t = s->topic;

	if (s->told != t->status_digest)
		sub_send(s, NULL, "status", &t->status);
	s->told = t->status_digest;
}

static void sub_free(struct sub *s)
{
	sub_unlink(s);
	tail_close(s->tail);
	s->topic->web->nfollowers--;
	free(s);
}

static bool ends(const struct sub *s)
{
	return s->topic->over && (s->topic->run || s->until_idle);
}

static void end(struct sub *s)
{
	sub_send(s, NULL, "end", &s->topic->status);
	http_stream_end(s->stream);
	sub_free(s);
}

static void write_item(struct topic *t, const struct tail_item *item)
{
	buf_clear(&t->data);
	if (item->event) {
		topic_event_json(&t->data, item->event);
		buf_addc(&t->data, '}');
	} else {
		topic_part_json(&t->data, item);
	}
}

static const char *name_of(const struct tail_item *item)
{
	return item->event ? "event" : "part";
}

/* Reads for itself from the place where the others stand. */
static void fall_behind(struct sub *s)
{
	struct topic *t = s->topic;
	struct tail_want want = {t->session, t->run, t->cursor.p};
	struct err e;

	if (tail_open(&s->tail, &want, &e))
		abort(); /* the cursor is ours */
	sub_unlink(s);
	sub_link(s, &t->behind);
}

static int tell_abreast(void *arg, const struct tail *tail,
			const struct tail_item *item)
{
	struct topic *t = arg;
	struct buf next = BUF_MAX(1 << 20);

	write_item(t, item);
	tail_cursor(tail, &next);
	for (struct sub *s = t->abreast, *after; s; s = after) {
		after = s->next;
		if (http_stream_room(s->stream) > 0)
			sub_send(s, next.p, name_of(item), &t->data);
		else
			fall_behind(s);
	}
	buf_clear(&t->cursor);
	buf_add(&t->cursor, next.p, next.n);
	buf_fini(&next);
	return t->abreast == NULL;
}

static int tell_one(void *arg, const struct tail *tail,
		    const struct tail_item *item)
{
	struct sub *s = arg;
	struct buf id = BUF_MAX(1 << 20);

	write_item(s->topic, item);
	tail_cursor(tail, &id);
	sub_send(s, id.p, name_of(item), &s->topic->data);
	buf_fini(&id);
	return http_stream_room(s->stream) == 0;
}

/* Stands it where the others stand? Then it goes on with them. */
static void join(struct sub *s)
{
	struct topic *t = s->topic;
	struct buf here = BUF_MAX(1 << 20);

	tail_cursor(s->tail, &here);
	if (!t->abreast) {
		tail_close(t->tail);
		t->tail = s->tail;
		s->tail = NULL;
		buf_clear(&t->cursor);
		buf_add(&t->cursor, here.p, here.n);
	} else if (strcmp(here.p, t->cursor.p) == 0) {
		tail_close(s->tail);
		s->tail = NULL;
	} else {
		t->again = true; /* a commit came in between */
	}
	if (!s->tail) {
		sub_unlink(s);
		sub_link(s, &t->abreast);
	}
	buf_fini(&here);
}

/* 1: it has all there is. */
static int catch_up(struct sub *s, struct agent_file *file, struct err *e)
{
	int rc = 1;

	tell_status(s);
	while (rc > 0 && http_stream_room(s->stream) > 0)
		rc = file ? tail_read(s->tail, file, tell_one, s, e) : 0;
	if (rc)
		return rc < 0 ? -1 : 0;
	if (ends(s))
		end(s);
	else
		join(s);
	return 1;
}

static int serve_behind(struct topic *t, struct agent_file *file, struct err *e)
{
	int64_t until = clock_mono_ns() + CATCH_NS;

	for (struct sub *s = t->behind, *after; s; s = after) {
		after = s->next;
		if (http_stream_room(s->stream) == 0)
			continue; /* it will say so when it can take more */
		if (catch_up(s, file, e) < 0)
			return -1;
		if (clock_mono_ns() > until) { /* others want their turn */
			t->again = t->behind != NULL;
			break;
		}
	}
	return 0;
}

static int serve_abreast(struct topic *t, struct agent_file *file,
			 struct err *e)
{
	int rc = 1;

	for (struct sub *s = t->abreast; s; s = s->next)
		tell_status(s);
	while (rc > 0 && t->abreast)
		rc = file ? tail_read(t->tail, file, tell_abreast, t, e) : 0;
	if (rc == 0)
		for (struct sub *s = t->abreast, *after; s; s = after) {
			after = s->next;
			if (ends(s))
				end(s);
		}
	return rc < 0 ? -1 : 0;
}

/* What is told once a stream has begun can no longer be an HTTP error. */
static void fail(struct topic *t, const struct err *e)
{
	struct sub *lists[] = {t->abreast, t->behind};

	log_warn(LT("msg", "streams failed"), LT("why", e->text));
	buf_clear(&t->data);
	buf_addf(&t->data, "{\"code\":\"%s\"", err_name(e->code));
	add_member(&t->data, "detail", e->text);
	buf_addc(&t->data, '}');
	for (int i = 0; i < 2; i++)
		for (struct sub *s = lists[i], *after; s; s = after) {
			after = s->next;
			sub_send(s, NULL, "error", &t->data);
			http_stream_end(s->stream);
			sub_free(s);
		}
}

static void on_turn(void *arg, const struct err *failed)
{
	struct topic *t = arg;
	struct web *w = t->web;
	struct agent_file *file = NULL;
	struct err e = {0};

	t->asked = t->again = false;
	if (failed)
		return; /* the next commit, or the timer, comes */
	if (read_status(t, &e) ||
	    agent_files_get(&w->files, sup_db(w->sup), t->agent, &file, &e) <
		    0 ||
	    serve_abreast(t, file, &e) || serve_behind(t, file, &e))
		fail(t, &e);
	if (!t->abreast && !t->behind && !t->asked)
		topic_free(t);
	else if (t->again)
		web_soon(w);
}

/* --- coming and going --------------------------------------------------- */

/* The topic goes at its next look, if nobody is left. */
static void on_closed(void *arg)
{
	struct sub *s = arg;
	struct topic *t = s->topic;

	sub_free(s);
	if (!t->abreast && !t->behind)
		topic_look(t);
}

static void on_writable(void *arg)
{
	struct sub *s = arg;

	if (s->tail)
		topic_look(s->topic);
}

static bool is_of(const struct topic *t, const struct topic_want *want)
{
	return strcmp(t->agent, want->agent) == 0 &&
	       strcmp(t->session, want->session) == 0 &&
	       !t->run == !want->run &&
	       (!t->run || strcmp(t->run, want->run) == 0);
}

static struct topic *topic_of(struct web *w, const struct topic_want *want)
{
	struct topic *t = w->topics;

	for (int64_t i = 0; i < w->ntopics; i++, t = t->next)
		if (is_of(t, want))
			return t;
	t = calloc(1, sizeof *t);
	if (!t)
		abort();
	t->web = w;
	t->agent = strdup(want->agent);
	t->session = strdup(want->session);
	t->run = want->run ? strdup(want->run) : NULL;
	buf_init(&t->cursor, 1 << 20);
	buf_init(&t->status, 64 << 10);
	buf_init(&t->data, (size_t)256 << 20);
	topic_link(t);
	t->host_watch = sup_watch(w->sup, NULL, on_news, t);
	return t;
}

int topic_follow(struct web *w, const struct topic_want *want,
		 struct http_reply *reply, struct err *e)
{
	static const struct http_stream_ops ops = {on_writable, on_closed};
	struct tail_want place = {want->session, want->run, want->after};
	struct sub *s;
	struct tail *tail;

	if (tail_open(&tail, &place, e))
		return -1;
	s = calloc(1, sizeof *s);
	if (!s)
		abort();
	s->tail = tail;
	s->until_idle = want->until_idle;
	s->topic = topic_of(w, want);
	sub_link(s, &s->topic->behind);
	w->nfollowers++;
	s->stream = http_reply_stream(reply, &ops, s);
	topic_look(s->topic);
	return 0;
}

void topics_close(struct web *w)
{
	while (w->topics)
		topic_free(w->topics);
}

void topics_poll(struct web *w)
{
	for (int i = 0; i < POLLS && i < w->ntopics; i++) {
		topic_look(w->topics);
		w->topics = w->topics->next;
	}
}
