#include "supervisor/api/stream/stream_subscriber.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"

#define POLLS 100 /* topics that one tick of the timer lets look */

static void topic_link(struct topic *t)
{
	struct api *w = t->api;

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
	struct api *w = t->api;

	if (w->topics == t)
		w->topics = t->next == t ? NULL : t->next;
	t->next->before = t->before;
	t->before->next = t->next;
	w->ntopics--;
	supervisor_unwatch(t->host_watch);
	supervisor_unwatch(t->run_watch);
	tail_close(t->tail);
	buf_fini(&t->cursor);
	buf_fini(&t->batch);
	buf_fini(&t->ahead);
	buf_fini(&t->told);
	buf_fini(&t->status);
	buf_fini(&t->data);
	free(t->agent);
	free(t->session);
	free(t->run);
	free(t);
}

/* --- looking ------------------------------------------------------------ */

static void read_topic(void *arg, const struct err *failed);

static void topic_look(struct topic *t)
{
	if (t->asked)
		return;
	t->asked = true;
	supervisor_after_commit(t->api->sup, read_topic, t);
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
	supervisor_unwatch(t->run_watch);
	t->run_watch = supervisor_watch(t->api->sup, row->id, on_news, t);
	t->watched_in = now;
	snprintf(t->watched, sizeof t->watched, "%s", row->id);
}

static void add_nullable(struct buf *b, const char *name, const char *text)
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
	struct run_activity live = {0};

	buf_clear(b);
	buf_addf(b, "{\"state\":\"%s\"", row ? row->state : "idle");
	if (row) {
		add_nullable(b, "run", row->id);
		buf_addf(b, ",\"attempt\":%" PRId64, row->attempt);
		add_nullable(b, "reason", row->reason);
		add_nullable(b, "detail", row->detail);
		if (supervisor_run_activity(t->api->sup, row->id, &live))
			add_nullable(b, "phase", live.phase);
	}
	buf_addc(b, '}');
	buf_clear(&t->told);
	sse_format(&t->told, &(struct sse_event){.event = "status",
						 .data = b->p,
						 .n = b->n});
	t->status_digest = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < b->n; i++)
		t->status_digest = (t->status_digest ^ (unsigned char)b->p[i]) *
				   UINT64_C(0x100000001b3);
}

/* The run, or the next run of the session: its status, and whether there is
 * more to come. Read before the rows, so that a run that is over has written
 * all that it ever will. */
static int read_status(struct topic *t, struct err *e)
{
	struct sql *db = supervisor_db(t->api->sup);
	struct run_get_in in = {t->run};
	struct run_queue_state_row queue = {0};
	struct arena a = {0};
	struct run_row row;
	int found = 1;

	if (!t->run) {
		struct run_queue_state_in key = {t->agent, t->session};

		found = sql_get(db, Q_RUN_QUEUE_STATE, &key, &queue, &a, e);
		in.id = queue.next;
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

/* What is told once a stream has begun can no longer be an HTTP error. */
static void fail(struct topic *t, const struct err *e)
{
	struct sub *lists[] = {t->abreast, t->behind};

	log_warn(LT("msg", "streams failed"), LT("why", e->text));
	buf_clear(&t->data);
	buf_addf(&t->data, "{\"code\":\"%s\"", err_name(e->code));
	add_nullable(&t->data, "detail", e->text);
	buf_addc(&t->data, '}');
	for (int i = 0; i < 2; i++)
		for (struct sub *s = lists[i], *after; s; s = after) {
			after = s->next;
			sub_send(s, NULL, "error", &t->data);
			http_stream_end(s->stream);
			sub_free(s);
		}
}

static void read_topic(void *arg, const struct err *failed)
{
	struct topic *t = arg;
	struct api *w = t->api;
	struct agent_file *file = NULL;
	struct err e = {0};

	t->asked = t->again = false;
	if (failed)
		return; /* the next commit, or the timer, comes */
	if (read_status(t, &e) ||
	    agent_files_get(&w->files, supervisor_db(w->sup), t->agent, &file,
			    &e) < 0 ||
	    subs_serve(t, file, &e))
		fail(t, &e);
	if (!t->abreast && !t->behind && !t->asked)
		topic_free(t);
	else if (t->again)
		api_look_soon(w);
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

static struct topic *topic_of(struct api *w, const struct topic_want *want)
{
	struct topic *t = w->topics;

	for (int64_t i = 0; i < w->ntopics; i++, t = t->next)
		if (is_of(t, want))
			return t;
	t = calloc(1, sizeof *t);
	if (!t)
		abort();
	t->api = w;
	t->agent = strdup(want->agent);
	t->session = strdup(want->session);
	t->run = want->run ? strdup(want->run) : NULL;
	buf_init(&t->cursor, 1 << 20);
	buf_init(&t->ahead, 1 << 20);
	buf_init(&t->batch, (size_t)512 << 20);
	buf_init(&t->status, 64 << 10);
	buf_init(&t->told, 128 << 10);
	buf_init(&t->data, (size_t)256 << 20);
	topic_link(t);
	t->host_watch = supervisor_watch(w->sup, NULL, on_news, t);
	return t;
}

int topic_follow(struct api *w, const struct topic_want *want,
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

void topics_close(struct api *w)
{
	while (w->topics)
		topic_free(w->topics);
}

void topics_poll(struct api *w)
{
	for (int i = 0; i < POLLS && i < w->ntopics; i++) {
		topic_look(w->topics);
		w->topics = w->topics->next;
	}
}
