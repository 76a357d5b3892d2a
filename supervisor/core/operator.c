#include "supervisor/core/operator.h"
#include "lib/db/vacuum.h"

#include "supervisor/core/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"
#include "schema/control/run_prune.h"

#include <stdio.h>
#include <string.h>

#define BATCH_MAX 1000    /* rows or pages, in one turn of the loop … */
#define BATCH_NS  5000000 /* … and no longer than this, after each few: */
#define STEP      8

/*
 * Changes of the control plane on behalf of maintenance commands. ops/ does the
 * work itself.
 */
static int note_backup(struct supervisor *s, const struct backup_run_row *row,
		       const char *by, struct completion done, struct err *e)
{
	bool over = row->ended_at != OPT_NONE;

	control_set_actor(by);
	if (!id_is(ID_BACKUP, row->id ? row->id : ""))
		return err_set(e, ERR_INVALID,
			       "\"id\" is not the id of a backup");
	if (txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_BACKUP_RUN_PUT, row, e) < 0 ||
	    (over &&
	     control_audit(s->db, NULL, "backup.create", row->id, NULL, e)))
		return -1;
	complete_later(s, done, row->id, true, NULL);
	return 0;
}

int supervisor_backup_note(struct supervisor *s,
			   const struct backup_run_row *row, const char *by,
			   struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, note_backup(s, row, by, done, e), e);
}

static int note_import_run(struct supervisor *s,
			   const struct import_run_row *row, const char *by,
			   struct completion done, struct err *e)
{
	control_set_actor(by);
	if (!id_is(ID_IMPORT, row->id ? row->id : "") || !row->source ||
	    !row->importer || !row->state)
		return err_set(e, ERR_INVALID,
			       "\"id\" is not the id of an import, or "
			       "\"source\", \"importer\" or \"state\" is "
			       "missing");
	if (txn_begin(&s->txn, e) || control_import(s->db, row, e))
		return -1;
	complete_later(s, done, row->id, true, NULL);
	return 0;
}

int supervisor_import_run(struct supervisor *s,
			  const struct import_run_row *row, const char *by,
			  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, note_import_run(s, row, by, done, e), e);
}

/* Reports a missing import instead of a failed constraint. */
static int needs_import_run(struct supervisor *s, const char *id, struct err *e)
{
	struct import_run_known_row row;
	struct arena a = {0};
	int found = sql_get(s->db, Q_IMPORT_RUN_KNOWN,
			    &(struct import_run_known_in){id}, &row, &a, e);

	arena_fini(&a);
	if (found == 0)
		err_set(e, ERR_NOTFOUND, "\"run\": there is no import '%s'",
			id);
	return found > 0 ? 0 : -1;
}

static int note_import_item(struct supervisor *s,
			    const struct import_item_row *row, const char *by,
			    struct completion done, struct err *e)
{
	control_set_actor(by);
	if (!row->path || !row->target || !row->sha256 || !row->run ||
	    !row->importer || !row->state)
		return err_set(e, ERR_INVALID,
			       "\"path\", \"target\", \"sha256\", \"run\", "
			       "\"importer\" and \"state\" are required");
	if (needs_import_run(s, row->run, e) || txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_IMPORT_ITEM_PUT, row, e) < 0)
		return -1;
	complete_later(s, done, row->run, true, NULL);
	return 0;
}

int supervisor_import_item(struct supervisor *s,
			   const struct import_item_row *row, const char *by,
			   struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, note_import_item(s, row, by, done, e), e);
}

static int note_import_removed(struct supervisor *s,
			       const struct import_item_removed_in *in,
			       const char *by, struct completion done,
			       struct err *e)
{
	control_set_actor(by);
	if (!in->file || !in->removed)
		return err_set(e, ERR_INVALID,
			       "\"file\" and \"removed\" are required");
	if (txn_begin(&s->txn, e) ||
	    sql_exec(s->db, Q_IMPORT_ITEM_REMOVED, in, e) < 0)
		return -1;
	complete_later(s, done, "sources", true, NULL);
	return 0;
}

int supervisor_import_removed(struct supervisor *s,
			      const struct import_item_removed_in *in,
			      const char *by, struct completion done,
			      struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, note_import_removed(s, in, by, done, e), e);
}

static int add_audit(struct supervisor *s, const char *act, const char *subject,
		     const char *detail, const char *by, struct completion done,
		     struct err *e)
{
	control_set_actor(by);
	if (!act || text_check_key("act", act, 64, e))
		return act ? -1 : err_set(e, ERR_INVALID, "\"act\" is missing");
	if (txn_begin(&s->txn, e) ||
	    control_audit(s->db, NULL, act, subject, detail, e))
		return -1;
	complete_later(s, done, subject ? subject : act, true, NULL);
	return 0;
}

int supervisor_audit(struct supervisor *s, const char *act, const char *subject,
		     const char *detail, const char *by, struct completion done,
		     struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn,
			   add_audit(s, act, subject, detail, by, done, e), e);
}

/* --- batches: the command repeats its request until nothing is left -------- */

/* Adds what it did to `*done`, at most `count`. 1 if there may be more, 0, -1. */
typedef int batch_step(struct sql *db, int64_t count, const void *arg,
		       int64_t *done, struct err *e);

/* Repeats step until `max` rows are done or the time of one turn is used up. The
 * note of the reply is their number, and "changed" asks for another request. */
static int run_batch(struct supervisor *s, const char *what, int64_t max,
		     batch_step *step, const void *arg, struct completion done,
		     struct err *e)
{
	int64_t until = clock_mono_ns() + BATCH_NS, sum = 0;
	char note[32];
	int more = 1;

	if (txn_begin(&s->txn, e))
		return -1;
	while (more > 0 && sum < max && clock_mono_ns() < until)
		more = step(s->db, max - sum < STEP ? max - sum : STEP, arg,
			    &sum, e);
	if (more < 0)
		return -1;
	snprintf(note, sizeof note, "%lld", (long long)sum);
	complete_later(s, done, what, more > 0, txn_text(&s->txn, note));
	return 0;
}

static int prune_some(struct sql *db, int64_t count, const void *arg,
		      int64_t *done, struct err *e)
{
	struct run_prune some = *(const struct run_prune *)arg;

	some.count = count;
	return run_prune_step(db, &some, done, e);
}

static int prune_runs(struct supervisor *s, const struct run_prune *req,
		      const char *by, struct completion done, struct err *e)
{
	control_set_actor(by);
	if (!req->edge || req->count < 1 || req->count > BATCH_MAX)
		return err_set(e, ERR_INVALID,
			       "\"edge\" must be the first id to keep, and "
			       "\"count\" 1 to %d",
			       BATCH_MAX);
	send_hint(s, &(struct hint){.kind = HINT_ATTACHMENTS});
	return run_batch(s, "runs", req->count, prune_some, req, done, e);
}

int supervisor_prune(struct supervisor *s, const struct run_prune *req,
		     const char *by, struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, prune_runs(s, req, by, done, e), e);
}

static int vacuum_some(struct sql *db, int64_t count, const void *arg,
		       int64_t *done, struct err *e)
{
	int64_t n = sql_vacuum_some(db, count, e);

	(void)arg;
	if (n > 0)
		*done += n;
	return n < 0 ? -1 : n > 0;
}

static int vacuum_pages(struct supervisor *s, int64_t pages, const char *by,
			struct completion done, struct err *e)
{
	control_set_actor(by);
	if (pages < 1 || pages > BATCH_MAX)
		return err_set(e, ERR_INVALID, "\"pages\" must be 1 to %d",
			       BATCH_MAX);
	return run_batch(s, "pages", pages, vacuum_some, NULL, done, e);
}

int supervisor_vacuum(struct supervisor *s, int64_t pages, const char *by,
		      struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, vacuum_pages(s, pages, by, done, e), e);
}

/* --- restore of an agent's database
 * ---------------------------------------- */

struct agent_swap {
	struct completion done;
	struct agent_database_row row;
	const char *path, *before;
};

static void swap_files(void *arg, const struct err *failed)
{
	struct agent_swap *w = arg;
	struct command_result r = {.failed = failed, .changed = true};
	struct err e;

	if (!failed && registry_swap_files(&w->row, w->path, w->before, &e)) {
		log_error(LT("msg", "cannot replace the database of an agent"),
			  LT("agent", w->row.agent), LT("error", e.text));
		r.failed = &e;
	}
	if (w->done.call)
		w->done.call(w->done.arg, &r);
}

/* The restored file must be beside the agent file: a request over HTTP must not
 * move arbitrary files. */
static int check_restore_path(const char *path, const char *file, struct err *e)
{
	const char *slash = strrchr(file, '/');
	size_t n = slash ? (size_t)(slash - file) + 1 : 0;

	if (path && !strncmp(path, file, n) && !strchr(path + n, '/') &&
	    !strncmp(path + n, "restore-", 8))
		return 0;
	return err_set(e, ERR_INVALID,
		       "\"path\" must be a restored file in %.*s", (int)n,
		       file);
}

static int restore_agent(struct supervisor *s, const char *name,
			 const char *path, const char *by,
			 struct completion done, struct err *e)
{
	struct agent_swap *w = txn_alloc(&s->txn, sizeof *w);
	struct arena a = {0};
	int rc, found;

	control_set_actor(by);
	if (!runs_release_agent(s, name))
		return err_set(e, ERR_BUSY,
			       "agent %s has active runs; wait until they end, "
			       "or cancel them",
			       quoted(name).text);
	found = registry_find(s->db, name, &w->row, &a, e);
	rc = found < 0 ? -1
	     : found   ? check_restore_path(path, w->row.path, e)
		       : err_set(e, ERR_NOTFOUND, "agent '%s' has no database",
				 quoted(name).text);
	if (!rc)
		rc = txn_begin(&s->txn, e) ||
		     registry_swap(s->db, name, path, &w->row, &a, e) ||
		     control_audit(s->db, NULL, "agent.restore", name, NULL, e);
	if (!rc) {
		w->done = done;
		w->row.agent = txn_text(&s->txn, w->row.agent);
		w->row.path = txn_text(&s->txn, w->row.path);
		w->path = txn_text(&s->txn, path);
		w->before = registry_before(path, &s->txn.arena);
		txn_on_commit(&s->txn, swap_files, w);
	}
	arena_fini(&a);
	return rc ? -1 : 0;
}

int supervisor_agent_restore(struct supervisor *s, const char *name,
			     const char *path, const char *by,
			     struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, restore_agent(s, name, path, by, done, e),
			   e);
}
