#include "worker/process/output.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "worker/run/diagnose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OUTPUT_MAX (64 << 20)

void exec_output_init(struct exec_output *o, struct run *r)
{
	int64_t max = r->start->output_max;

	*o = (struct exec_output){.run = r,
				  .stream.transcript = &r->transcript,
				  .max = max == OPT_NONE ? OUTPUT_MAX : max};
	lines_init(&o->out, EXEC_LINE_MAX);
	lines_init(&o->err, EXEC_LINE_MAX);
}

void exec_output_fini(struct exec_output *o)
{
	lines_fini(&o->out);
	lines_fini(&o->err);
	arena_fini(&o->arena);
}

/* An event that conflicts with one of an earlier attempt under the same key is
 * an error of the command: it is recorded, and the run continues. */
static int commit_one(struct exec_output *o, const struct event_new *ev,
		      struct err *e)
{
	struct err why;

	if (transcript_add(&o->run->transcript, ev, 1, NULL, e) == 0)
		return 0;
	if (e->code != ERR_CONFLICT)
		return -1;
	why = *e;
	return transcript_add_text(&o->run->transcript, "error", e, "%s",
				   why.text);
}

/* Commits the buffered events; the arena stays. */
static int write_out(struct exec_output *o, struct err *e)
{
	int rc = transcript_add(&o->run->transcript, o->events, o->waiting,
				NULL, e);

	if (rc && e->code == ERR_CONFLICT) {
		rc = 0;
		for (size_t i = 0; i < o->waiting && rc == 0; i++)
			rc = commit_one(o, &o->events[i], e);
	}
	o->waiting = 0;
	return rc;
}

static int commit(struct exec_output *o, struct err *e)
{
	int rc = write_out(o, e);

	arena_reset(&o->arena);
	return rc;
}

/* Parts and questions are committed at once, after earlier events. */
static int take_other(struct exec_output *o, const struct exec_line *x,
		      struct err *e)
{
	struct msg_approval q = {.key = x->key,
				 .title = x->title,
				 .detail = x->detail,
				 .fallback = x->fallback,
				 .timeout_ms = x->timeout_ms};
	struct err clash;

	if (x->kind == EXEC_DONE)
		return stream_end(&o->stream, x->part, "done", e);
	if (x->kind == EXEC_DELTA)
		return stream_add(&o->stream, x->part, x->part_kind, x->text,
				  e);
	if (run_question(o->run, &q, &clash) == 0)
		return 0;
	if (clash.code != ERR_CONFLICT && clash.code != ERR_PROTOCOL) {
		*e = clash;
		return -1;
	}
	return transcript_add_text(&o->run->transcript, "error", e,
				   "a question that cannot be asked");
}

/* It looks like an event but is stored as text: explain why. */
static bool is_odd(const struct line *line, const struct exec_line *x)
{
	return line->n > 0 && line->p[0] == '{' && x->kind == EXEC_EVENT &&
	       strcmp(x->event.type, "output") == 0;
}

static int take_output_line(struct exec_output *o, const struct line *line,
			    const char *stream, struct err *e)
{
	struct exec_line *x;

	if (o->kept + (int64_t)line->n > o->max) {
		o->dropped += (int64_t)line->n;
		return 0;
	}
	o->kept += (int64_t)line->n;
	if (o->waiting == EXEC_BATCH && commit(o, e))
		return -1;
	x = arena_alloc(&o->arena, sizeof *x);
	exec_line(line, stream, o->run->start->run, &o->arena, x);
	if (is_odd(line, x))
		diagnose_line(o->run, "no event", line->p, line->n);
	if (x->kind == EXEC_EVENT) {
		o->events[o->waiting++] = x->event;
		return 0;
	}
	return write_out(o, e) ? -1 : take_other(o, x, e);
}

static int take_out(void *arg, const struct line *line, struct err *e)
{
	return take_output_line(arg, line, "output", e);
}

static int take_err(void *arg, const struct line *line, struct err *e)
{
	struct exec_output *o = arg;

	if (line->n > 0)
		text_fit(o->last_err, sizeof o->last_err,
			 quotedn(line->p, line->n).text);
	return take_output_line(o, line, "stderr", e);
}

int exec_output_add(struct exec_output *o, bool is_err, const char *p, size_t n,
		    struct err *e)
{
	return is_err ? lines_add(&o->err, p, n, take_err, o, e)
		      : lines_add(&o->out, p, n, take_out, o, e);
}

int exec_output_commit(struct exec_output *o, int64_t *wait_ms, struct err *e)
{
	if (commit(o, e))
		return -1;
	return stream_flush(&o->stream, wait_ms, e);
}

static int note_dropped(struct exec_output *o, struct err *e)
{
	struct buf b = BUF_MAX(1024);
	char text[160];

	snprintf(text, sizeof text,
		 "%" PRId64 " bytes of output were over the limit of %" PRId64
		 " and are not kept",
		 o->dropped, o->max);
	json_begin_object(&b);
	json_put_text(&b, "text", text);
	json_put_int(&b, "dropped", o->dropped);
	json_end_object(&b);
	return transcript_add_body(&o->run->transcript, "note", &b, e);
}

int exec_output_end(struct exec_output *o, const char *state, struct err *e)
{
	if (lines_end(&o->out, take_out, o, e) ||
	    lines_end(&o->err, take_err, o, e) || commit(o, e) ||
	    stream_end_all(&o->stream, state, e))
		return -1;
	if (o->dropped == 0)
		return 0;
	diagnose_output(o->run, o->kept, o->dropped);
	return note_dropped(o, e);
}
