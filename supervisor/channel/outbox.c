/*
 * Reads the outboxes of agent files. An outbox row becomes a delivery or a
 * message to another session, exactly once: the agent file is read in a thread;
 * the rows are stored under their source (agent, number, time), which is
 * unique; after that commit the file is marked, in a thread again. After a
 * crash in between, the rows are read again and recognized.
 *
 * A hint of a worker, and the end of each run, name the file to read. At start
 * every registered file is read in the background. A file that could not be
 * read, or whose rows could not be stored, is read again after a delay that
 * grows to a minute.
 */
#include "supervisor/channel/outbox.h"
#include "supervisor/channel/internal.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/log.h"
#include "lib/os/file.h"
#include "schema/agent/agent_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX  256
#define AGENT_MAX 72
#define WAIT_MS   1000 /* after a failure; doubles with each further one … */
#define WAITS_MAX 6    /* … so often */

struct pending_agent { /* an agent whose file is to be read */
	struct pending_agent *next;
	char agent[AGENT_MAX];
	int failures;   /* in a row */
	int64_t due_ms; /* uv_now */
};

struct outbox {
	struct pending_agent *first;
	struct pending_agent **end;
	struct job *jobs;        /* at most one per agent */
	struct job *scan;        /* the job of the scan of all files */
	char scanned[AGENT_MAX]; /* the last agent of that scan */
	bool scanning;
	bool closing;
};

struct row {
	struct outbox_row entry;
	const char *session;
};

struct job {
	struct job *next;
	struct agent_work work;
	struct supervisor *sup; /* NULL: skepd is ending */
	char agent[AGENT_MAX];
	int failures; /* before this one */
	char *path;
	struct arena arena;
	struct row rows[ROWS_MAX];
	int n;      /* rows read */
	bool mark;  /* mark the rows instead of reading */
	bool write; /* there is something to mark */
	int rc;
	struct err err;
};

/* --- in a thread ------------------------------------------------------ */

static int read_rows(struct job *j, struct agent_file *f, struct err *e)
{
	struct outbox_waiting_in in = {0, ROWS_MAX};
	struct outbox_row *rows;
	int n = sql_collect(f->db, Q_OUTBOX_WAITING, &in, ROWS_MAX, &rows,
			    &j->arena, e);

	for (int i = 0; i < n; i++) {
		struct session_by_id_in key = {rows[i].pos >> 32};
		struct session_row session;
		int found = sql_get(f->db, Q_SESSION_BY_ID, &key, &session,
				    &j->arena, e);

		if (found < 0)
			return -1;
		j->rows[i].entry = rows[i];
		j->rows[i].session = found ? session.key : NULL;
	}
	j->n = n < 0 ? 0 : n;
	return n < 0 ? -1 : 0;
}

static int mark_rows(struct job *j, struct agent_file *f, struct err *e)
{
	int rc = 0;

	if (sql_enter(f->db, e))
		return -1;
	for (int i = 0; i < j->n && rc == 0; i++) {
		struct outbox_taken_in in = {j->rows[i].entry.id, clock_now()};

		rc = sql_exec(f->db, Q_OUTBOX_TAKEN, &in, e) < 0 ? -1 : 0;
	}
	return sql_leave(f->db, rc, e);
}

static int read_or_mark(struct job *j, struct err *e)
{
	struct agent_file f;
	int rc;

	if (!file_exists(j->path))
		return 0;
	if (!j->mark && fault_point(FAULT_outbox_read, e))
		return -1;
	if (agent_file_open(&f, j->path, j->agent, 0, e))
		return -1;
	rc = j->mark ? mark_rows(j, &f, e) : read_rows(j, &f, e);
	sql_keep_wal(f.db, 256 << 10);
	agent_file_close(&f);
	return rc;
}

static void outbox_in_thread(struct agent_work *w)
{
	struct job *j = w->data;

	j->rc = read_or_mark(j, &j->err);
}

/* --- on the loop ------------------------------------------------------ */

static void job_free(struct job *j)
{
	arena_fini(&j->arena);
	free(j->path);
	free(j);
}

static void next_job(struct supervisor *s);
static void add_pending(struct supervisor *s, const char *agent, int failures);

enum job_result { ALL_STORED, MORE, FAILED };

static void finish_job(struct supervisor *s, struct job *j, enum job_result how)
{
	struct outbox *o = s->channels->outbox;
	struct job **at = &o->jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	if (o->scan == j)
		o->scan = NULL;
	if (how != ALL_STORED)
		add_pending(s, j->agent, how == FAILED ? j->failures + 1 : 0);
	job_free(j);
	next_job(s);
}

/* The deliveries are committed: marks the rows in the agent file. */
static void mark_after_commit(void *arg, const struct err *failed)
{
	struct job *j = arg;
	struct supervisor *s = j->sup;
	struct err e;

	if (!s) {
		job_free(j);
		return;
	}
	if (failed || fault_point(FAULT_outbox_stored, &e)) {
		log_warn(LT("msg",
			    "outbox rows were not stored and are read again"),
			 LT("agent", j->agent),
			 LT("error", failed ? failed->text : e.text));
		finish_job(s, j, FAILED);
		return;
	}
	j->mark = true;
	agent_work_submit(s->agent_threads, &j->work);
}

static int store_rows(struct supervisor *s, const struct job *j, struct err *e)
{
	int rc = txn_begin(&s->txn, e);

	for (int i = 0; i < j->n && rc == 0; i++) {
		struct outbox_entry l = {j->agent, j->rows[i].session,
					 j->rows[i].entry};

		rc = outbox_route(s, &l, e);
	}
	return rc;
}

static void store_in_transaction(struct supervisor *s, struct job *j)
{
	struct err e;

	txn_try_begin(&s->txn);
	if (txn_try_end(&s->txn, store_rows(s, j, &e), &e)) {
		log_error(LT("msg", "cannot store the rows of an outbox"),
			  LT("agent", j->agent), LT("error", e.text));
		finish_job(s, j, FAILED);
		return;
	}
	s->host_changed = true;
	txn_on_commit(&s->txn, mark_after_commit, j);
}

static void outbox_done(struct agent_work *w)
{
	struct job *j = w->data;
	struct supervisor *s = j->sup;
	bool scanned;

	if (!s) {
		job_free(j);
		return;
	}
	scanned = s->channels->outbox->scan == j;
	if (scanned)
		s->channels->outbox->scan = NULL;
	if (j->rc)
		log_warn(LT("msg", "cannot read the outbox of an agent"),
			 LT("agent", j->agent), LT("error", j->err.text));
	if (j->rc)
		finish_job(s, j, FAILED);
	else if (j->mark || j->n == 0)
		finish_job(s, j, j->n == ROWS_MAX ? MORE : ALL_STORED);
	else
		store_in_transaction(s, j);
	if (scanned)
		next_job(s);
}

/* --- which files ------------------------------------------------------ */

static struct job *start_job(struct supervisor *s, const char *agent,
			     const char *path, int failures)
{
	struct outbox *o = s->channels->outbox;
	struct job *j = calloc(1, sizeof *j);

	if (!j)
		abort();
	j->sup = s;
	j->work = (struct agent_work){.agent = j->agent,
				      .data = j,
				      .in_thread = outbox_in_thread,
				      .done = outbox_done};
	j->failures = failures;
	snprintf(j->agent, sizeof j->agent, "%s", agent);
	j->path = strdup(path);
	j->next = o->jobs;
	o->jobs = j;
	agent_work_submit(s->agent_threads, &j->work);
	return j;
}

static bool has_job(const struct outbox *o, const char *agent)
{
	const struct job *j = o->jobs;

	while (j && strcmp(j->agent, agent) != 0)
		j = j->next;
	return j != NULL;
}

/* Removes the first due agent that has no job. */
static struct pending_agent *pop_pending(struct outbox *o, int64_t now)
{
	struct pending_agent **at = &o->first, *w;

	while (*at && ((*at)->due_ms > now || has_job(o, (*at)->agent)))
		at = &(*at)->next;
	w = *at;
	if (w) {
		*at = w->next;
		if (o->end == &w->next)
			o->end = at;
	}
	return w;
}

/* Hints first, then the next file of the scan. */
static void next_job(struct supervisor *s)
{
	struct outbox *o = s->channels->outbox;
	struct pending_agent *w;

	while (!o->closing && (w = pop_pending(o, (int64_t)uv_now(&s->loop)))) {
		struct agent_database_get_in key = {w->agent};
		struct agent_database_row row;
		struct arena a = {0};
		struct err e;

		if (sql_get(s->db, Q_AGENT_DATABASE_GET, &key, &row, &a, &e) ==
		    1)
			(void)start_job(s, row.agent, row.path, w->failures);
		arena_fini(&a);
		free(w);
	}
	while (!o->closing && !o->scan && o->scanning) {
		struct agent_database_after_in key = {o->scanned};
		struct agent_database_row row;
		struct arena a = {0};
		struct err e;

		o->scanning = sql_get(s->db, Q_AGENT_DATABASE_AFTER, &key, &row,
				      &a, &e) == 1;
		if (o->scanning) {
			snprintf(o->scanned, sizeof o->scanned, "%s",
				 row.agent);
			if (!has_job(o, row.agent))
				o->scan = start_job(s, row.agent, row.path, 0);
		}
		arena_fini(&a);
	}
}

static void add_pending(struct supervisor *s, const char *agent, int failures)
{
	struct outbox *o = s->channels->outbox;
	int doubled = failures < WAITS_MAX ? failures : WAITS_MAX;
	struct pending_agent *w;

	for (w = o->first; w; w = w->next)
		if (!strcmp(w->agent, agent))
			return;
	w = calloc(1, sizeof *w);
	if (!w)
		abort();
	snprintf(w->agent, sizeof w->agent, "%s", agent);
	w->failures = failures;
	if (failures)
		w->due_ms = (int64_t)uv_now(&s->loop) +
			    ((int64_t)WAIT_MS << (doubled - 1));
	*o->end = w;
	o->end = &w->next;
}

static void on_outbox_hint(struct supervisor *s, const struct hint *h)
{
	const struct outbox *o = s->channels ? s->channels->outbox : NULL;

	if (!o || o->closing)
		return;
	add_pending(s, h->agent, 0);
	next_job(s);
}

void outbox_tick(struct supervisor *s)
{
	if (s->channels->outbox)
		next_job(s);
}

int outbox_open(struct supervisor *s, struct err *e)
{
	struct outbox *o = calloc(1, sizeof *o);

	(void)e;
	if (!o)
		abort();
	o->end = &o->first;
	o->scanning = true;
	s->channels->outbox = o;
	on_hint(s, HINT_OUTBOX, on_outbox_hint);
	next_job(s);
	return 0;
}

void outbox_close(struct supervisor *s)
{
	struct outbox *o = s->channels->outbox;
	struct pending_agent *w;

	if (!o)
		return;
	for (struct job *j = o->jobs; j; j = j->next)
		j->sup = NULL; /* the job frees itself */
	o->jobs = NULL;
	while ((w = pop_pending(o, INT64_MAX)))
		free(w);
	free(o);
	s->channels->outbox = NULL;
}
