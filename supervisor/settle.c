#include "supervisor/channel.h"
#include "supervisor/outbox.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "ipc/reason.h"
#include "schema/agent_file.h"
#include "schema/part.h"
#include "schema/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * After a worker died without a word: what it committed counts. Its file is
 * opened in a thread (another run of the agent may hold the write lock). If the
 * end of the attempt is there, that is how it ended; else what it left open is
 * closed as aborted and, when it will not be tried again, the end is written in
 * its place. The tree is gone by now, so nobody writes for the run any more. A
 * file that cannot be had in time is left as it is: the run does not wait.
 */
#define SETTLE_MS 15000

struct job {
	uv_work_t work;
	struct sup *sup;
	char id[ID_SIZE];
	char agent[65];
	char *session;
	char *path;
	int64_t attempt, epoch;
	bool again;
	char status[16]; /* to be written; then: what was found */
	char reason[64];
	bool found;
	bool began; /* the attempt is in the file, or may be */
	struct err err;
	int rc;
};

static int write_end(struct job *j, struct agent_file *f, struct err *e)
{
	struct writer_run who = {j->id, j->attempt, j->epoch};
	struct event_new last = {.type = "run_finished", .parent = WRITER_LEAF};
	struct event_ref ref;
	struct writer w;
	char body[160], key[96];

	if (writer_open(&w, f, j->session, &who, e) ||
	    part_abort_open(&w, j->reason, e) < 0)
		return -1;
	if (j->again)
		return 0;
	if (part_abort_awaiting(&w, j->reason, e) < 0)
		return -1;
	snprintf(body, sizeof body,
		 "{\"outcome\":\"%s\",\"reason\":\"%s\",\"by\":\"skepd\"}",
		 j->status, j->reason);
	snprintf(key, sizeof key, "%s/%lld/end", j->id, (long long)j->attempt);
	last.body = body;
	last.key = key;
	return writer_end_run(&w, &last, j->status, j->reason, &ref, e);
}

static int settle_file(struct job *j, struct err *e)
{
	struct run_local_get_in key = {j->id};
	struct run_row_local row;
	struct agent_file f;
	struct arena a = {0};
	int rc;

	if (!file_exists(j->path))
		return 0;
	j->began = true; /* until the file says no */
	if (fault_point(FAULT_settle_file, e) ||
	    agent_file_open(&f, j->path, j->agent, 0, e))
		return -1;
	rc = sql_get(f.db, Q_RUN_LOCAL_GET, &key, &row, &a, e);
	j->began = rc < 0 || (rc == 1 && row.attempt == j->attempt);
	if (rc == 1 && row.attempt == j->attempt) {
		j->found = strcmp(row.status, "running") != 0;
		if (j->found) {
			snprintf(j->status, sizeof j->status, "%s", row.status);
			snprintf(j->reason, sizeof j->reason, "%s",
				 row.reason ? row.reason : "");
		} else {
			rc = write_end(j, &f, e);
		}
	}
	arena_fini(&a);
	agent_file_close(&f);
	return rc < 0 ? -1 : 0;
}

static void work(uv_work_t *w)
{
	struct job *j = w->data;

	j->rc = settle_file(j, &j->err);
}

/* What the file says counts more than what was guessed. */
static void take_found(struct live *l, const struct job *j)
{
	enum run_verdict said = run_verdict_from(j->status);
	enum reason r = reason_from(j->reason);

	if (r == REASONS)
		return;
	if (said == RUN_NO_VERDICT || said == RUN_WILL_FAIL)
		said = run_verdict_failed(reason_again(r), l->attempt,
					  l->max_attempts);
	if (said == RUN_WILL_SUCCEED || l->verdict == RUN_WILL_FAIL ||
	    l->verdict == RUN_WILL_AGAIN) {
		l->verdict = said;
		live_because(l, j->reason, NULL);
	}
}

/* It was taken for one that never came to life, and did so all the same: it
 * counts, and if it was the last, the file has to have its end. */
static void take_begun(struct live *l)
{
	l->verdict = run_verdict_failed(true, l->attempt, l->max_attempts);
	live_because(l, run_because_worker_died, l->detail);
	l->settled = l->verdict == RUN_WILL_AGAIN;
}

static void done(uv_work_t *w, int status)
{
	struct job *j = w->data;
	struct live *l = live_find(&j->sup->lives, j->id);

	if (status == UV_ECANCELED)
		j->rc = 0;
	if (j->rc)
		log_warn(LT("msg", "an agent's file cannot be settled"),
			 LT("run", j->id), LT("error", j->err.text));
	outbox_look(j->sup, j->agent); /* its last words may be there */
	if (l && l->settling && l->attempt == j->attempt) {
		l->settling = false;
		l->settled = true;
		if (j->found)
			take_found(l, j);
		else if (j->began && l->verdict == RUN_WILL_AGAIN &&
			 sup_stillborn(l, l->reason))
			take_begun(l);
		sup_prove(l);
	}
	free(j->session);
	free(j->path);
	free(j);
}

void sup_settle_late(struct live *l)
{
	log_warn(LT("msg", "an agent's file could not be settled in time"),
		 LT("run", l->id), LT("agent", l->agent));
	l->settling = false;
	l->settled = true;
}

void sup_settle(struct live *l)
{
	struct agent_database_get_in key = {l->agent};
	struct agent_database_row row;
	struct job *j = calloc(1, sizeof *j);
	struct arena a = {0};
	struct err e;

	if (!j)
		abort();
	if (l->settling || sql_get(l->sup->db, Q_AGENT_DATABASE_GET, &key, &row,
				   &a, &e) != 1) {
		free(j);
		if (!l->settling) {
			l->settled = true;
			sup_prove(l);
		}
		arena_fini(&a);
		return;
	}
	l->settling = true;
	j->sup = l->sup;
	j->work.data = j;
	memcpy(j->id, l->id, sizeof j->id);
	memcpy(j->agent, l->agent, sizeof j->agent);
	j->session = strdup(l->session);
	j->path = strdup(row.path);
	j->attempt = l->attempt;
	j->epoch = row.epoch;
	j->again = l->verdict == RUN_WILL_AGAIN;
	if (!j->again)
		snprintf(j->status, sizeof j->status, "%s",
			 run_verdict_word(l->verdict));
	snprintf(j->reason, sizeof j->reason, "%s", l->reason);
	arena_fini(&a);
	live_alarm(l, SETTLE_MS);
	uv_queue_work(&l->sup->loop, &j->work, work, done);
}
