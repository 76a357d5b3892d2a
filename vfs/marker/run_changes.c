#include "vfs/marker/run_changes.h"

#include "lib/base/text.h"
#include "schema/agent_queries.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/conflict.h"
#include "vfs/snapshot/restore.h"

#include <inttypes.h>
#include <string.h>

#define WHO "revert"

struct filter {
	const char *const *paths;
	int n;
	vfs_difference_fn *fn;
	void *arg;
};

static int no_marker(struct run_changes *c, const struct run_place_row *row,
		     struct err *e)
{
	if (!row->workspace)
		return err_set(e, ERR_UNSUPPORTED,
			       "run %s worked in a host directory, of which "
			       "there are no snapshots; 'skep run --over DIR', "
			       "or an agent with the workspace vfs-scratch, "
			       "keeps them",
			       c->run);
	return err_set(e, ERR_NOTFOUND,
		       "run %s has no marker of its workspace '%s': it changed "
		       "nothing, the namespace was deleted, 'skep vfs apply', "
		       "discard or rollback has dropped its earlier states, or "
		       "the marker was pruned (agent.markers)",
		       c->run, row->workspace);
}

static int no_turn(struct run_changes *c, int64_t last, struct err *e)
{
	return err_set(e, ERR_NOTFOUND,
		       "run %s has the turns 1 to %" PRId64 ", not %" PRId64,
		       c->run, last, c->turn);
}

/* The markers on both sides of the turn, or of the run. */
static int choose(struct run_changes *c, const struct marker_row *rows, int n,
		  bool running, struct err *e)
{
	int at = -1;

	c->from_snap = rows[0].snap;
	if (c->turn == 0) {
		c->to_snap = running ? NULL : rows[n - 1].snap;
		return 0;
	}
	for (int i = 0; i < n; i++)
		if (rows[i].turn == c->turn)
			at = i;
	if (at < 0 && running && rows[n - 1].turn == c->turn - 1) {
		c->from_snap = rows[n - 1].snap;
		return 0;
	}
	if (at <= 0)
		return no_turn(c, rows[n - 1].turn, e);
	c->from_snap = rows[at - 1].snap;
	c->to_snap = rows[at].snap;
	return 0;
}

static int open_view(struct run_changes *c, struct sql *db, const char *ns,
		     const char *snap, struct vfs **out, struct err *e)
{
	const char *name = snap ? arena_printf(&c->mem, "%s@%s", ns, snap) : ns;

	return vfs_open(out, db, name, WHO, e);
}

static int open_in(struct run_changes *c, struct agent_file *f, struct err *e)
{
	struct run_place_row place;
	struct marker_row *rows;
	int n = sql_get(f->db, Q_RUN_PLACE, &(struct run_place_in){c->run},
			&place, &c->mem, e);

	if (n <= 0)
		return n < 0 ? -1
			     : err_set(e, ERR_NOTFOUND, "run %s has not begun",
				       c->run);
	n = sql_collect(f->db, Q_MARKER_OF_RUN,
			&(struct marker_of_run_in){c->run}, 1000000, &rows,
			&c->mem, e);
	if (n <= 0)
		return n < 0 ? -1 : no_marker(c, &place, e);
	if (c->turn == 0 && rows[0].turn != 0)
		return err_set(e, ERR_NOTFOUND,
			       "the marker from before run %s was pruned "
			       "(agent.markers); its turns from %" PRId64
			       " on can still be compared",
			       c->run, rows[0].turn + 1);
	if (choose(c, rows, n, strcmp(place.status, "running") == 0, e))
		return -1;
	return open_view(c, f->db, rows[0].ns, c->from_snap, &c->from, e) ||
			       open_view(c, f->db, rows[0].ns, c->to_snap,
					 &c->to, e)
		       ? -1
		       : 0;
}

int run_changes_open(struct run_changes *c, struct agent_file *f,
		     const char *run, int64_t turn, struct err *e)
{
	*c = (struct run_changes){.run = run, .turn = turn, .db = f->db};
	if (open_in(c, f, e) == 0)
		return 0;
	run_changes_close(c);
	return -1;
}

void run_changes_close(struct run_changes *c)
{
	vfs_close(c->from);
	vfs_close(c->to);
	c->from = c->to = NULL;
	arena_fini(&c->mem);
}

/* Whether a path is one of n paths or below one. n 0: all are. */
static bool is_below(const char *const *paths, int n, const char *path)
{
	for (int i = 0; i < n; i++)
		if (place_covers(paths[i], path))
			return true;
	return n == 0;
}

static int pass_wanted(void *arg, const struct vfs_difference *d, struct err *e)
{
	struct filter *f = arg;

	return is_below(f->paths, f->n, d->path) ? f->fn(f->arg, d, e) : 0;
}

int run_changes_list(struct run_changes *c, const char *const *paths, int n,
		     vfs_difference_fn *fn, void *arg, struct err *e)
{
	struct diff_source from = {.v = c->from}, to = {.v = c->to};
	struct filter f = {paths, n, fn, arg};

	return vfs_diff(&from, &to, pass_wanted, &f, e);
}

/* --- the way back -------------------------------------------------------- */

struct revert {
	const char *const *paths;
	int n;
	struct vfs_merge *m;
};

static bool is_wanted(void *arg, const char *path)
{
	const struct revert *r = arg;

	return is_below(r->paths, r->n, path);
}

static void pass_report(void *arg, const struct vfs_difference *d,
			bool conflict)
{
	const struct revert *r = arg;

	if (r->m->report)
		r->m->report(r->m->arg, d, conflict);
}

static int check_idle(struct run_changes *c, struct err *e)
{
	const char *name = vfs_name(c->from);
	struct run_working_in_row row;
	int found = sql_get(c->db, Q_RUN_WORKING_IN,
			    &(struct run_working_in_in){name}, &row, &c->mem,
			    e);

	if (found <= 0)
		return found;
	return err_set(e, ERR_BUSY, "run %s works in the namespace '%s'",
		       row.run, name);
}

int run_changes_revert(struct run_changes *c, const char *const *paths, int n,
		       struct vfs_merge *m, struct err *e)
{
	struct revert r = {paths, n, m};
	struct vfs_restore back = {.to = c->from_snap,
				   .from = c->to_snap,
				   .m = {.strategy = m->strategy,
					 .report = pass_report,
					 .arg = &r}};
	struct vfs *live;
	int rc;

	if (n)
		back.wants = is_wanted;
	if (!c->to_snap)
		return err_set(e, ERR_BUSY,
			       "run %s still works; cancel it or wait for its "
			       "end",
			       c->run);
	if (check_idle(c, e) ||
	    vfs_open(&live, c->db, vfs_name(c->from), WHO, e))
		return -1;
	rc = vfs_restore(live, &back, e);
	m->applied = back.m.applied;
	m->conflicts = back.m.conflicts;
	vfs_close(live);
	return rc;
}
