#include "supervisor/api/stream/stream_subscriber.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"

#define BATCH_BYTES (32 << 10) /* that everybody is sent in one piece */
#define CATCH_NS    (INT64_C(5) * 1000000) /* of one look, for those behind */

static void sub_unlink(struct sub *s)
{
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
}

void sub_link(struct sub *s, struct sub **list)
{
	s->next = *list;
	s->link = list;
	if (s->next)
		s->next->link = &s->next;
	*list = s;
}

int sub_send(struct sub *s, const char *id, const char *event,
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
		http_stream_share(s->stream, &t->told, 1);
	s->told = t->status_digest;
}

void sub_free(struct sub *s)
{
	sub_unlink(s);
	tail_close(s->tail);
	s->topic->api->nfollowers--;
	free(s);
}

static bool ends(const struct sub *s)
{
	return s->topic->over && (s->topic->run || s->until_idle);
}

static void end_subscriber(struct sub *s)
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

/* Writes it out, once for everybody. */
static int add_to_batch(void *arg, const struct tail *tail,
			const struct tail_item *item)
{
	struct topic *t = arg;

	write_item(t, item);
	buf_clear(&t->ahead);
	tail_cursor(tail, &t->ahead);
	sse_format(&t->batch, &(struct sse_event){.id = t->ahead.p,
						  .event = name_of(item),
						  .data = t->data.p,
						  .n = t->data.n});
	t->in_batch++;
	return t->batch.n >= BATCH_BYTES;
}

static void hand_out(struct topic *t)
{
	if (t->in_batch == 0)
		return;
	for (struct sub *s = t->abreast, *after; s; s = after) {
		after = s->next;
		if (http_stream_room(s->stream) > 0)
			http_stream_share(s->stream, &t->batch, t->in_batch);
		else
			fall_behind(s);
	}
	buf_clear(&t->cursor);
	buf_add(&t->cursor, t->ahead.p, t->ahead.n);
	buf_clear(&t->batch);
	t->in_batch = 0;
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
		end_subscriber(s);
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
	while (rc > 0 && t->abreast) {
		rc = file ? tail_read(t->tail, file, add_to_batch, t, e) : 0;
		hand_out(t);
	}
	if (rc == 0)
		for (struct sub *s = t->abreast, *after; s; s = after) {
			after = s->next;
			if (ends(s))
				end_subscriber(s);
		}
	return rc < 0 ? -1 : 0;
}

int subs_serve(struct topic *t, struct agent_file *file, struct err *e)
{
	return serve_abreast(t, file, e) || serve_behind(t, file, e) ? -1 : 0;
}
