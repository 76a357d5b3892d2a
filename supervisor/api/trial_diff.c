/* What a trial of an experiment changed, and how two of them differ. The forks may
 * be in the files of two agents. A thread does the work (write_async.h). */
#include "supervisor/api/change_list.h"

#include "lib/base/text.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/snapshot.h"

#include <string.h>

struct trial_diff {
	const char *from, *to;    /* namespaces; from may be a snapshot */
	const char *agent, *path; /* of the file of `to`; NULL: the same file */
};

static int compare(struct edit *ed, struct sql *a, struct sql *b, struct err *e)
{
	const struct trial_diff *t = ed->body;
	struct change_list l = {.ed = ed, .text = ed->q->flag};
	int rc = vfs_open(&l.from.v, a, t->from, "api", e);

	if (rc == 0)
		rc = vfs_open(&l.to.v, b, t->to, "api", e);
	if (rc == 0)
		rc = vfs_diff(&l.from, &l.to, change_list_add, &l, e);
	vfs_close(l.from.v);
	vfs_close(l.to.v);
	return rc;
}

static int diff_in(struct edit *ed, struct agent_file *f, struct err *e)
{
	const struct trial_diff *t = ed->body;
	struct agent_file other;
	int rc;

	list_begin(&ed->out);
	if (t->path) {
		rc = agent_file_open(&other, t->path, t->agent, 0, e);
		if (rc == 0) {
			rc = compare(ed, f->db, other.db, e);
			agent_file_close(&other);
		}
	} else {
		rc = compare(ed, f->db, f->db, e);
	}
	list_end(&ed->out, NULL);
	return rc;
}

static int find_trial(struct api_request *q, const char *name,
		      struct trial_row *out, struct err *e)
{
	struct trial_get_in key = {.experiment = q->id};
	int found = http_query_i64(q->http, name, (int64_t[]){1, INT32_MAX},
				   &key.number, e);

	if (found == 0)
		found = sql_get(supervisor_db(q->api->sup), Q_TRIAL_GET, &key,
				out, &q->arena, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "experiment %s has no trial %lld",
			       quoted(q->id).text, (long long)key.number);
	if (found > 0 && !out->has_fork)
		return err_set(e, ERR_NOTFOUND,
			       "trial %lld has no files: its fork was deleted, "
			       "or its run never started",
			       (long long)key.number);
	return found < 0 ? -1 : 0;
}

/* The file of the second trial. */
static int find_file(struct api_request *q, const struct trial_row *b,
		     struct trial_diff *t, struct err *e)
{
	struct agent_database_get_in key = {b->agent};
	struct agent_database_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_AGENT_DATABASE_GET,
			    &key, &row, &q->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "agent %s has no database",
			       b->agent);
	t->agent = b->agent;
	t->path = found > 0 ? row.path : NULL;
	return found < 0 ? -1 : 0;
}

static struct trial_diff *plan(struct api_request *q, struct trial_row *a,
			       struct err *e)
{
	struct trial_diff *t = arena_alloc(&q->arena, sizeof *t);
	struct trial_row b;

	*t = (struct trial_diff){0};
	if (find_trial(q, "trial", a, e))
		return NULL;
	if (!request_query(q, "other")) {
		t->from = arena_printf(&q->arena, "%s@" VFS_FORK_POINT,
				       a->fork);
		t->to = a->fork;
		return t;
	}
	if (find_trial(q, "other", &b, e) ||
	    (strcmp(a->agent, b.agent) != 0 && find_file(q, &b, t, e)))
		return NULL;
	t->from = a->fork;
	t->to = b.fork;
	return t;
}

void route_experiment_diff(struct api_request *q)
{
	struct trial_row a;
	struct trial_diff *t;
	struct edit *ed;
	struct err e = {0};

	q->id = request_param(q, "id");
	q->flag = http_query_flag(q->http, "patch");
	t = plan(q, &a, &e);
	if (!t) {
		request_fail(q, &e);
		return;
	}
	ed = edit_of(q, a.agent);
	if (!ed)
		return;
	ed->body = t;
	ed->reads_only = true;
	edit_start(ed, diff_in);
}
