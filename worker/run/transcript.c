#include "worker/run/transcript.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/db/checkpoint.h"
#include "lib/json/json_write.h"
#include "lib/os/file.h"
#include "schema/agent/search/search.h"
#include "schema/agent/transcript/branch.h"

#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The WAL that is left for the next run of the agent. */
#define WAL_KEPT (256 << 10)

/* A file without a schema in the registry is created by its first run. */
static int open_agent_file(struct transcript *j, const struct msg_start *s,
			   struct err *e)
{
	unsigned flags = strcmp(s->synchronous, "full") == 0 ? SQL_FULL : 0;
	char dir[PATH_MAX];

	if (s->schema_version == 0) {
		flags |= SQL_CREATE;
		snprintf(dir, sizeof dir, "%s", s->agent_db);
		if (file_make_dir(dirname(dir), 0700, e))
			return -1;
	}
	return agent_file_open(&j->file, s->agent_db, s->agent, flags, e);
}

/* Hides what the run `replaces` added, and all after it; once, before the first
 * event of this run. */
static int rewind_before(struct transcript *j, const struct msg_start *s,
			 struct err *e)
{
	struct run_before_row before;
	struct sql *db = j->file.db;
	struct arena a = {0};
	int own, old = 0;

	if (!s->replaces)
		return 0;
	own = sql_get(db, Q_RUN_BEFORE, &(struct run_before_in){s->run},
		      &before, &a, e);
	if (own == 0)
		old = sql_get(db, Q_RUN_BEFORE,
			      &(struct run_before_in){s->replaces}, &before, &a,
			      e);
	if (old > 0 && session_rewind(&j->file, s->session, before.seq, e))
		old = -1;
	arena_fini(&a);
	return own < 0 || old < 0 ? -1 : 0;
}

static int open_session(struct transcript *j, const struct msg_start *s,
			struct err *e)
{
	struct writer_run run = {
		.run_id = s->run,
		.attempt = s->attempt,
		.epoch = s->epoch,
		.workspace = strcmp(s->workspace_mode, "disk") ? s->namespace
							       : NULL,
		.session_workspace = s->session_workspace,
	};

	if (rewind_before(j, s, e) ||
	    writer_open(&j->writer, &j->file, s->session, &run, e))
		return -1;
	if (s->attempt > 1 &&
	    part_abort_open(&j->writer, "the worker that did this died", e) < 0)
		return -1;
	j->first = j->writer.tail;
	atomic_store(&j->seq, j->writer.tail);
	return 0;
}

int transcript_open(struct transcript *j, const struct msg_start *s,
		    struct ipc_client *link, struct err *e)
{
	j->link = link;
	return open_agent_file(j, s, e);
}

int transcript_begin(struct transcript *j, const struct msg_start *s,
		     struct err *e)
{
	if (open_session(j, s, e)) {
		agent_file_close(&j->file);
		return -1;
	}
	j->open = true;
	atomic_store(&j->touched, clock_mono_ns());
	return 0;
}

void transcript_close(struct transcript *j)
{
	if (j->open) {
		sql_keep_wal(j->file.db, WAL_KEPT);
		agent_file_close(&j->file);
	}
	j->open = false;
}

void transcript_leave(struct transcript *j)
{
	if (j->open && !sql_can_stay_open(j->file.db, WAL_KEPT))
		transcript_close(j);
}

/* A hint: if it cannot be sent, the row is found without it. */
static void hint(struct transcript *j, const struct msg *m)
{
	struct err ignored;

	if (j->link)
		(void)ipc_client_report(j->link, m, &ignored);
}

void transcript_changed(struct transcript *j)
{
	struct msg m = {.type = MSG_TYPE_EVENT};

	m.u.event.seq = atomic_load(&j->seq);
	m.u.event.rev = atomic_fetch_add(&j->rev, 1) + 1;
	atomic_store(&j->touched, clock_mono_ns());
	hint(j, &m);
}

static void add_usage(struct transcript *j, const struct usage_new *u)
{
	struct msg m = {.type = MSG_TYPE_USAGE};

	j->spent.input_tokens += u->input;
	j->spent.output_tokens += u->output;
	j->spent.cost_micros += u->cost_nano / 1000;
	if (u->model) {
		text_fit(j->model, sizeof j->model, u->model);
		j->spent.model = j->model;
	}
	m.u.usage = j->spent;
	hint(j, &m);
}

static void add_extras(struct transcript *j, const struct event_new *ev,
		       const struct event_ref *ref)
{
	struct msg m = {.type = MSG_TYPE_OUTBOX};

	if (ref->repeated)
		return;
	if (ev->usage)
		add_usage(j, ev->usage);
	if (ev->outbox) {
		m.u.outbox.seq = ref->seq;
		hint(j, &m);
	}
}

static void send_hints(struct transcript *j, const struct event_new *ev,
		       size_t n, const struct event_ref *refs)
{
	for (size_t i = 0; i < n; i++)
		add_extras(j, &ev[i], &refs[i]);
	atomic_store(&j->seq, j->writer.tail);
	transcript_changed(j);
}

int transcript_add(struct transcript *j, const struct event_new *ev, size_t n,
		   struct event_ref *refs, struct err *e)
{
	struct event_ref *own = NULL;
	int rc;

	if (n == 0)
		return 0;
	if (!refs) {
		own = calloc(n, sizeof *own);
		if (!own)
			abort();
		refs = own;
	}
	rc = writer_stream(&j->writer, ev, n, refs, e);
	if (rc && e->code == ERR_CANCELED) /* the end must not lose anything */
		rc = writer_stream(&j->writer, ev, n, refs, e);
	if (rc == 0)
		send_hints(j, ev, n, refs);
	free(own);
	return rc;
}

int transcript_sync(struct transcript *j, struct err *e)
{
	return sql_sync(j->file.db, e);
}

int transcript_system(struct transcript *j, const char *text, struct err *e)
{
	struct event_new ev = {.type = "system"};
	struct event_ref ref;

	if (writer_set_system(&j->writer, text, &ref, e))
		return -1;
	if (!ref.repeated)
		send_hints(j, &ev, 1, &ref);
	return 0;
}

int transcript_add_body(struct transcript *j, const char *type,
			struct buf *body, struct err *e)
{
	struct event_new ev = {
		.type = type, .body = body->p, .parent = WRITER_LEAF};
	int rc = buf_ok(body, type, e);

	if (rc == 0)
		rc = transcript_add(j, &ev, 1, NULL, e);
	buf_fini(body);
	return rc;
}

int transcript_add_text(struct transcript *j, const char *type, struct err *e,
			const char *fmt, ...)
{
	struct buf text = BUF_MAX(EVENT_BODY_MAX);
	struct buf body = BUF_MAX(EVENT_BODY_MAX);
	va_list ap;
	int rc;

	va_start(ap, fmt);
	buf_vaddf(&text, fmt, ap);
	va_end(ap);
	json_begin_object(&body);
	json_put_text(&body, "text", text.p);
	json_end_object(&body);
	rc = transcript_add_body(j, type, &body, e);
	buf_fini(&text);
	return rc;
}

int transcript_index(struct transcript *j)
{
	int64_t seq = atomic_load(&j->seq);
	struct err e;
	int n;

	if (!j->open || j->indexed < 0 || j->indexed >= seq ||
	    sql_in_transaction(j->file.db))
		return 0;
	n = search_step(&j->file, j->writer.session, &e);
	if (n < 0)
		log_warn(LT("msg", "the search index is not kept up to date"),
			 LT("error", e.text));
	if (n <= 0)
		j->indexed = n < 0 ? -1 : seq;
	return n > 0;
}

int transcript_end(struct transcript *j, const struct event_new *last,
		   enum reason reason, struct err *e)
{
	struct event_ref ref;

	if (writer_end_run(&j->writer, last, reason_outcome(reason),
			   reason_code(reason), &ref, e))
		return -1;
	send_hints(j, last, 1, &ref);
	return 0;
}
