#include "supervisor/experiment/work.h"

#include "lib/json/json.h"

#include <string.h>

/* The steps of experiments: the snapshot at the start, the merge of the winner,
 * the deletion of forks. */

#define EXPERIMENTS_PER_TURN 100

/* --- threads -------------------------------------------------------------- */

int experiment_open_file(struct experiment_work *w, const char *agent,
			 struct err *e)
{
	struct completion no_reply = {0};
	struct agent_database_row file;
	int rc = supervisor_agent_database(w->sup, agent, no_reply, &file,
					   &w->mem, e);

	w->agent = arena_text(&w->mem, agent);
	w->path = rc ? NULL : file.path;
	return rc;
}

static int set_working(struct supervisor *s, const char *id, bool working,
		       struct err *e)
{
	struct experiment_set_working_in in = {id, working};

	return sql_exec(s->db, Q_EXPERIMENT_SET_WORKING, &in, e) < 0 ? -1 : 0;
}

static int set_state(struct supervisor *s, const char *id, const char *from,
		     const char *to, const char *detail, struct err *e)
{
	struct experiment_set_state_in in = {id, from, to, detail};

	return sql_exec(s->db, Q_EXPERIMENT_SET_STATE, &in, e) < 0 ? -1 : 0;
}

static int refuse_pick(struct supervisor *s, const char *id, const char *why,
		       const char *conflicts, struct err *e)
{
	struct experiment_not_picked_in in = {id, why, conflicts};

	return sql_exec(s->db, Q_EXPERIMENT_NOT_PICKED, &in, e) < 0 ? -1 : 0;
}

/* Starts the step, or fails the experiment if its file cannot be used. */
static int begin_work(struct experiment_work *w, const char *agent,
		      const struct experiment_next_row *x, struct err *e)
{
	struct supervisor *s = w->sup;
	struct err why;
	int rc;

	w->experiment = arena_text(&w->mem, x->id);
	w->source = arena_text(&w->mem, x->source);
	w->snapshot = arena_text(&w->mem, x->snapshot);
	w->owns_snapshot = x->owns_snapshot;
	rc = experiment_open_file(w, agent, &why);
	if (rc == 0 && set_working(s, x->id, true, e) == 0) {
		experiment_work_start(w);
		return 0;
	}
	experiment_work_free(w);
	if (rc >= 0)
		return rc ? 0 : -1;
	return x->picking != OPT_NONE
		       ? refuse_pick(s, x->id, why.text, "[]", e)
		       : set_state(s, x->id, x->state, "failed", why.text, e);
}

/* --- preparing ------------------------------------------------------------ */

static int record_prepared(struct experiment_work *w, struct err *e)
{
	return set_state(w->sup, w->experiment, "preparing",
			 w->rc ? "failed" : "running",
			 w->rc ? w->err.text : NULL, e);
}

/* Where the agent works, in case its namespace does not exist yet. */
static int read_mode(struct experiment_work *w, const char *agent,
		     struct err *e)
{
	struct agent_row row;
	struct home_path own;
	cJSON *spec;

	if (supervisor_agent_read(w->sup, agent, &row, &w->mem, e) != 1)
		return err_set(e, ERR_NOTFOUND, "agent %s was removed", agent);
	spec = json_parse_object("spec", row.spec, strlen(row.spec), e);
	if (!spec)
		return -1;
	own = home_join(&w->sup->home, HOME_AGENTS,
			arena_printf(&w->mem, "%s/workspace", agent));
	w->mode = row.workspace;
	w->home = w->sup->home.root;
	if (strcmp(row.workspace, "vfs-only") != 0)
		w->dir = arena_text(&w->mem, json_text(spec, "path", own.text));
	cJSON_Delete(spec);
	return 0;
}

static int prepare(struct supervisor *s, const struct experiment_next_row *x,
		   struct err *e)
{
	struct experiment_work *w = experiment_work_new(s, STEP_PREPARE);
	struct err why;

	w->record = record_prepared;
	if (read_mode(w, x->agent, &why) == 0)
		return begin_work(w, x->agent, x, e);
	experiment_work_free(w);
	return set_state(s, x->id, x->state, "failed", why.text, e);
}

/* --- picking -------------------------------------------------------------- */

static int record_picked(struct experiment_work *w, struct err *e)
{
	struct experiment_picked_in in = {
		.id = w->experiment,
		.merged = w->count,
		.conflicts = w->conflicts.n ? w->conflicts.p : "[]"};

	if (w->rc)
		return refuse_pick(w->sup, w->experiment, w->err.text,
				   in.conflicts, e);
	return sql_exec(w->sup->db, Q_EXPERIMENT_PICKED, &in, e) < 0 ? -1 : 0;
}

/* A JSON list of texts; NULL at the end. */
static const char *const *read_paths(const char *json, struct arena *a)
{
	struct err ignored; /* the request was checked */
	cJSON *list = json_parse("paths", json, strlen(json), &ignored);
	int n = cJSON_GetArraySize(list);
	const char **paths = arena_alloc(a, (size_t)(n + 1) * sizeof *paths);

	for (int i = 0; i < n; i++)
		paths[i] = arena_text(
			a, cJSON_GetStringValue(cJSON_GetArrayItem(list, i)));
	paths[n] = NULL;
	cJSON_Delete(list);
	return paths;
}

/* The file of a fork that is not in the file of the source: 0; 1: it is being
 * migrated; -1. */
static int find_fork_file(struct experiment_work *w, const char *agent,
			  const char *source_agent, struct err *e)
{
	struct completion no_reply = {0};
	struct agent_database_row file;
	int rc;

	if (!strcmp(agent, source_agent))
		return 0;
	rc = supervisor_agent_database(w->sup, agent, no_reply, &file, &w->mem,
				       e);
	w->fork_agent = arena_text(&w->mem, agent);
	w->fork_path = rc ? NULL : file.path;
	return rc;
}

static int pick(struct supervisor *s, const struct experiment_next_row *x,
		struct err *e)
{
	struct experiment_work *w = experiment_work_new(s, STEP_MERGE);
	struct trial_get_in key = {x->id, x->picking};
	struct trial_row t;
	struct err why;
	int rc;

	w->record = record_picked;
	w->strategy = arena_text(&w->mem, x->picking_strategy);
	w->ours = read_paths(x->picking_ours, &w->mem);
	w->theirs = read_paths(x->picking_theirs, &w->mem);
	if (sql_get(s->db, Q_TRIAL_GET, &key, &t, &w->mem, e) != 1) {
		experiment_work_free(w);
		return -1;
	}
	w->fork = t.fork;
	rc = find_fork_file(w, t.agent, x->agent, &why);
	if (rc == 0)
		return begin_work(w, x->agent, x, e);
	experiment_work_free(w);
	return rc > 0 ? 0 : refuse_pick(s, x->id, why.text, "[]", e);
}

/* --- dropping ------------------------------------------------------------- */

/* A fork that cannot be deleted is left to the user. */
static int record_fork_gone(struct experiment_work *w, struct err *e)
{
	struct trial_fork_gone_in in = {w->experiment, w->trial};

	if (sql_exec(w->sup->db, Q_TRIAL_FORK_GONE, &in, e) < 0)
		return -1;
	return set_working(w->sup, w->experiment, false, e);
}

static int record_dropped(struct experiment_work *w, struct err *e)
{
	return set_state(w->sup, w->experiment, "dropping",
			 w->trial ? "picked" : "dropped", NULL, e);
}

/* After the last fork: the snapshot, if it was taken for the experiment. */
static int drop_snapshot(struct supervisor *s,
			 const struct experiment_next_row *x, struct err *e)
{
	struct experiment_work *w;

	if (!x->owns_snapshot)
		return set_state(s, x->id, "dropping",
				 x->picked == OPT_NONE ? "dropped" : "picked",
				 NULL, e);
	w = experiment_work_new(s, STEP_DROP_SNAPSHOT);
	w->record = record_dropped;
	w->trial = x->picked == OPT_NONE ? 0 : x->picked;
	return begin_work(w, x->agent, x, e);
}

/* Forks in which runs still work follow when these have ended. */
static int drop_forks(struct supervisor *s, const struct experiment_next_row *x,
		      struct err *e)
{
	struct trial_list_in in = {x->id};
	struct arena a = {0};
	struct trial_row *rows, *next = NULL;
	struct experiment_work *w;
	bool busy = false;
	int n = sql_collect(s->db, Q_TRIAL_LIST, &in, INT32_MAX, &rows, &a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; i < n; i++) {
		bool works = !strcmp(rows[i].state, "running") ||
			     !strcmp(rows[i].state, "checking");

		busy |= works;
		if (!works && rows[i].has_fork && !next)
			next = &rows[i];
	}
	if (rc == 0 && next) {
		w = experiment_work_new(s, STEP_DROP_FORK);
		w->record = record_fork_gone;
		w->trial = next->number;
		w->fork = arena_text(&w->mem, next->fork);
		rc = begin_work(w, next->agent, x, e);
	} else if (rc == 0 && !busy) {
		rc = drop_snapshot(s, x, e);
	}
	arena_fini(&a);
	return rc;
}

int advance_experiments(struct supervisor *s, struct err *e)
{
	struct experiment_next_row *rows;
	struct arena a = {0};
	int n = sql_collect(s->db, Q_EXPERIMENT_NEXT, NULL,
			    EXPERIMENTS_PER_TURN, &rows, &a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		if (!strcmp(rows[i].state, "preparing"))
			rc = prepare(s, &rows[i], e);
		else if (!strcmp(rows[i].state, "picking"))
			rc = pick(s, &rows[i], e);
		else
			rc = drop_forks(s, &rows[i], e);
	}
	arena_fini(&a);
	return rc;
}
