#include "ops/backup/restore_fixup.h"

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/agent/transcript/fence.h"
#include "schema/agent/transcript/part.h"
#include "schema/agent/transcript/writer.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"
#include "schema/control/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OPEN_RUNS_MAX (1 << 20)
#define HELD_MAX      (64u << 20)

struct job {
	const struct home *staged;
	struct restore_sum *out;
	struct sql *db;
	struct agent_file file; /* of the current agent; .db NULL: none */
	struct arena arena;     /* of the current agent */
	int64_t now;
};

/* --- what an agent's file says ----------------------------------------- */

static int hold_messages(struct agent_file *f, int64_t now,
			 struct restore_sum *out, struct buf *held,
			 struct err *e)
{
	struct outbox_held_row keys;
	struct arena a = {0};
	int n = sql_get(f->db, Q_OUTBOX_HELD, NULL, &keys, &a, e);

	if (n > 0) {
		json_begin_object(held);
		json_put_raw(held, "keys", keys.keys);
		json_end_object(held);
		n = sql_exec(f->db, Q_OUTBOX_HOLD,
			     &(struct outbox_hold_in){now}, e);
	}
	arena_fini(&a);
	out->messages_held += n > 0 ? n : 0;
	return n < 0 ? -1 : 0;
}

/* A run that is running according to the file: closes its parts and writes its
 * end. */
static int end_in_file(struct agent_file *f, const char *run,
		       const char *session, struct err *e)
{
	struct run_local_get_in key = {run};
	struct event_new last = {.type = "run_finished",
				 .parent = WRITER_LEAF,
				 .body = "{\"outcome\":\"failed\",\"reason\":"
					 "\"restored\",\"by\":\"skep\"}"};
	struct run_row_local row;
	struct writer_run who;
	struct event_ref ref;
	struct arena a = {0};
	struct writer w;
	char end[96];
	int rc = sql_get(f->db, Q_RUN_LOCAL_GET, &key, &row, &a, e);

	if (rc > 0 && !strcmp(row.status, "running")) {
		who = (struct writer_run){.run_id = run,
					  .attempt = row.attempt,
					  .epoch = row.epoch};
		snprintf(end, sizeof end, "%s/%" PRId64 "/end", run,
			 row.attempt);
		last.key = end;
		rc = writer_open(&w, f, session, &who, e) ||
				     part_abort_open(&w, run_reason_restored,
						     e) < 0 ||
				     writer_end_run(&w, &last, "failed",
						    run_reason_restored, &ref,
						    e)
			     ? -1
			     : 0;
	}
	arena_fini(&a);
	return rc < 0 ? -1 : 0;
}

static int end_all_in_file(struct agent_file *f, struct restore_sum *out,
			   struct err *e)
{
	struct run_local_open_row *rows;
	struct arena a = {0};
	int n = sql_collect(f->db, Q_RUN_LOCAL_OPEN, NULL, OPEN_RUNS_MAX, &rows,
			    &a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; !rc && i < n; i++) {
		rc = end_in_file(f, rows[i].run_id, rows[i].session, e);
		out->runs_failed++;
	}
	arena_fini(&a);
	return rc;
}

int fixup_agent(const char *path, const char *agent, struct restore_sum *out,
		struct buf *held, struct err *e)
{
	struct agent_file f;
	int rc;

	if (agent_file_open(&f, path, agent, 0, e))
		return -1;
	rc = end_all_in_file(&f, out, e) ||
	     hold_messages(&f, clock_now(), out, held, e);
	agent_file_close(&f);
	return rc ? -1 : 0;
}

/* --- runs of the control plane ------------------------------------------ */

static int change_run_state(struct job *j, const char *agent,
			    const struct run_open_row *run, enum run_state to,
			    enum run_pending_state pending_state, struct err *e)
{
	struct run_transition m = {
		.id = run->id,
		.agent = agent,
		.session = run->session,
		.attempt = run->attempt,
		.from = (enum run_state)run_state_from(run->state),
		.to = to,
		.pending_state = pending_state,
		.reason = run_reason_restored,
		.due_at = j->now,
		.now = j->now,
	};

	return run_change_state(j->db, &m, e);
}

/* The state of a run in the file, or "" if it is unknown there. A run that was
 * to be retried counts as running. */
static int ask_file(struct job *j, const char *run, char status[16],
		    struct err *e)
{
	struct run_row_local row;
	int found = !j->file.db ? 0
				: sql_get(j->file.db, Q_RUN_LOCAL_GET,
					  &(struct run_local_get_in){run}, &row,
					  &j->arena, e);

	if (found > 0 && !strcmp(row.status, "aborted")) {
		row.status = "running";
		if (sql_exec(j->file.db, Q_RUN_LOCAL_REOPEN,
			     &(struct run_local_reopen_in){row.id}, e) < 0)
			return -1;
	}
	snprintf(status, 16, "%s", found > 0 ? row.status : "");
	return found < 0 ? -1 : 0;
}

static int take_last_seq(struct job *j, const char *run, struct err *e)
{
	struct run_set_last_seq_in in = {.id = run};

	if (!j->file.db || run_last_seq(&j->file, run, &in.last_seq, e))
		return j->file.db ? -1 : 0;
	return sql_exec(j->db, Q_RUN_SET_LAST_SEQ, &in, e) < 0 ? -1 : 0;
}

static int end_run(struct job *j, const char *agent,
		   const struct run_open_row *run, struct err *e)
{
	bool queued = !strcmp(run->state, "queued");
	enum run_state to = RUN_FAILED;
	char status[16];

	if (ask_file(j, run->id, status, e))
		return -1;
	if (!status[0] && j->file.db) {
		j->out->runs_queued++;
		return queued ? 0
			      : change_run_state(j, agent, run, RUN_QUEUED,
						 RUN_PENDING_NONE, e);
	}
	if (!strcmp(status, "running") &&
	    end_in_file(&j->file, run->id, run->session, e))
		return -1;
	if (take_last_seq(j, run->id, e))
		return -1;
	if (status[0] && run_state_from(status) >= 0 &&
	    strcmp(status, "running") != 0) {
		to = (enum run_state)run_state_from(status);
		j->out->runs_ended++;
	} else {
		j->out->runs_failed++;
	}
	return change_run_state(j, agent, run, to, RUN_PENDING_NONE, e);
}

static int end_runs(struct job *j, const char *agent, struct err *e)
{
	struct run_open_row *runs;
	int n = sql_collect(j->db, Q_RUN_OPEN, &(struct run_open_in){agent},
			    OPEN_RUNS_MAX, &runs, &j->arena, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; !rc && i < n; i++)
		rc = end_run(j, agent, &runs[i], e);
	return rc;
}

/* --- agent by agent ------------------------------------------------------ */

static int with_file(struct job *j, struct agent_database_row *row,
		     struct err *e)
{
	struct buf held = BUF_MAX(HELD_MAX);
	int64_t epoch = 0, before = j->out->messages_held;
	int rc;

	rc = end_runs(j, row->agent, e) ||
	     end_all_in_file(&j->file, &(struct restore_sum){0}, e) ||
	     hold_messages(&j->file, j->now, j->out, &held, e) ||
	     agent_file_epoch(&j->file, &epoch, e);
	row->epoch = 1 + (epoch > row->epoch ? epoch : row->epoch);
	if (!rc)
		rc = agent_file_set_epoch(&j->file, row->epoch, e);
	if (!rc && j->out->messages_held > before)
		rc = control_audit(j->db, NULL, "restore.hold", row->agent,
				   held.p, e);
	buf_fini(&held);
	return rc ? -1 : 0;
}

static int fixup_row(struct job *j, struct agent_database_row *row,
		     struct err *e)
{
	struct home_path here = registry_path(j->staged, row->agent);
	int rc;

	if (!file_exists(here.text))
		return end_runs(j, row->agent, e) ||
				       registry_forget(j->db, row->agent, e)
			       ? -1
			       : 0;
	if (agent_file_open(&j->file, here.text, row->agent, 0, e))
		return -1;
	/* the caller syncs, once for all files */
	rc = sql_script(j->file.db, "PRAGMA synchronous=OFF", e) ||
	     with_file(j, row, e);
	agent_file_close(&j->file);
	if (rc)
		return -1;
	row->path = here.text; /* relative in the table */
	row->schema_version = agent_schema.version;
	row->bytes = file_size(here.text);
	row->wal_bytes = 0;
	row->last_seen_at = j->now;
	return sql_exec(j->db, Q_AGENT_DATABASE_PUT, row, e) < 0 ? -1 : 0;
}

static int fixup_rows(struct job *j, struct err *e)
{
	struct agent_database_row *rows;
	struct arena a = {0};
	int n = sql_collect(j->db, Q_AGENT_DATABASE_LIST, NULL, 1 << 20, &rows,
			    &a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; !rc && i < n; i++) {
		rc = fixup_row(j, &rows[i], e);
		arena_reset(&j->arena);
	}
	arena_fini(&a);
	return rc;
}

/* Runs that are still active belong to agents that had no file yet: they never
 * began. */
static int requeue_rest(struct job *j, struct err *e)
{
	struct run_active_row *rows;
	int n = sql_collect(j->db, Q_RUN_ACTIVE, NULL, OPEN_RUNS_MAX, &rows,
			    &j->arena, e);

	for (int i = 0; i < n; i++) {
		struct run_open_row run = {rows[i].id, rows[i].session,
					   rows[i].state, rows[i].attempt};

		if (change_run_state(j, rows[i].agent, &run, RUN_QUEUED,
				     RUN_PENDING_NONE, e))
			return -1;
		j->out->runs_queued++;
	}
	return n < 0 ? -1 : 0;
}

static int hold_deliveries(struct job *j, struct err *e)
{
	int n = sql_exec(j->db, Q_DELIVERY_HOLD, NULL, e);

	j->out->messages_held += n > 0 ? n : 0;
	return n < 0 ? -1 : 0;
}

static int fixup_control(struct job *j, const struct manifest *m, struct err *e)
{
	struct buf detail = BUF_MAX(2 * PATH_MAX);
	int rc;

	json_begin_object(&detail);
	json_put_text(&detail, "from", m->head.home);
	json_end_object(&detail);
	rc = run_reasons_seed(j->db, e) ||
	     sql_exec(j->db, Q_SUPERVISOR_NONE, NULL, e) < 0 ||
	     sql_exec(j->db, Q_LEASE_NONE, NULL, e) < 0 ||
	     sql_exec(j->db, Q_SHUTDOWN_INTENT_CLEAR, NULL, e) < 0 ||
	     sql_exec(j->db, Q_BACKUP_RUN_NONE, NULL, e) < 0 ||
	     fixup_rows(j, e) || requeue_rest(j, e) || hold_deliveries(j, e) ||
	     control_audit(j->db, NULL, "backup.restore", m->head.id, detail.p,
			   e);
	buf_fini(&detail);
	return rc ? -1 : 0;
}

int fixup_home(const struct home *staged, const struct manifest *m,
	       struct restore_sum *out, struct err *e)
{
	struct job j = {.staged = staged, .out = out, .now = clock_now()};
	int rc;

	if (control_open(&j.db, staged, 0, e))
		return -1;
	rc = sql_enter(j.db, e);
	if (!rc)
		rc = sql_leave(j.db, fixup_control(&j, m, e), e);
	sql_close(j.db);
	arena_fini(&j.arena);
	return rc;
}
