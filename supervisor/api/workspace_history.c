/* Snapshots and differences of namespaces: what changed, and the way back. */
#include <string.h>

#include "lib/base/text.h"
#include "supervisor/api/workspace.h"
#include "vfs/snapshot/diff.h"
#include "vfs/snapshot/merge.h"
#include "vfs/snapshot/snapshot.h"

#define TEXT_MAX ((size_t)16 << 20) /* of the diff of one path */

static int list_snapshots(struct edit *ed, struct agent_file *f, struct vfs *v,
			  struct err *e)
{
	struct vfs_snapshot *list;
	int n = vfs_snapshots(v, &list, &ed->q->arena, e);

	(void)f;
	list_begin(&ed->out);
	for (int i = 0; i < n; i++) {
		struct api_snapshot row = {list[i].name,
					   list[i].made_at / 1000000};

		list_item(&ed->out, &api_snapshot_shape, &row);
	}
	list_end(&ed->out, NULL);
	return n < 0 ? -1 : 0;
}

static int take_snapshot(struct edit *ed, struct agent_file *f, struct vfs *v,
			 struct err *e)
{
	const struct workspace_snapshot_body *body = ed->body;

	(void)f;
	if (vfs_snapshot(v, body->name, e))
		return -1;
	workspace_done(ed, "snapshot taken");
	return 0;
}

static int roll_back(struct edit *ed, struct agent_file *f, struct vfs *v,
		     struct err *e)
{
	const struct workspace_snapshot_body *body = ed->body;

	(void)f;
	if (vfs_rollback_to(v, body->name, e))
		return -1;
	workspace_done(ed, "rolled back");
	return 0;
}

static int discard_changes(struct edit *ed, struct agent_file *f, struct vfs *v,
			   struct err *e)
{
	(void)f;
	if (vfs_discard(v, e))
		return -1;
	workspace_done(ed, "changes discarded");
	return 0;
}

/* --- differences --------------------------------------------------------- */

/* The origin of a namespace: its lower directory, or the point at which it was
 * forked. */
static int open_origin(struct edit *ed, struct agent_file *f, struct vfs *v,
		       struct diff_source *out, struct err *e)
{
	const char *word = ed->q->filter[2], *name;

	if (!word && vfs_base(v)) {
		out->dir = vfs_base(v);
		return 0;
	}
	if (!word)
		word = "@" VFS_FORK_POINT;
	name = word[0] == '@'
		       ? arena_printf(&ed->q->arena, "%s%s", vfs_name(v), word)
		       : word;
	if (vfs_open(&out->v, f->db, name, "http", e) == 0)
		return 0;
	if (e->code == ERR_NOTFOUND && !ed->q->filter[2])
		err_set(e, ERR_NOTFOUND,
			"namespace %s is not a fork and has no lower "
			"directory; name a snapshot or a namespace to compare "
			"with",
			quoted(vfs_name(v)).text);
	return -1;
}

struct difference_list {
	struct edit *ed;
	struct diff_source from, to;
};

static bool is_below(const char *only, const char *path)
{
	size_t n = only ? strlen(only) : 0;

	return !only || (strncmp(path, only, n) == 0 &&
			 (path[n] == '\0' || path[n] == '/'));
}

static int add_difference(void *arg, const struct vfs_difference *d,
			  struct err *e)
{
	struct difference_list *l = arg;
	struct api_change row = {vfs_difference_letter(d->kind), d->path, NULL,
				 false};
	struct buf text = BUF_MAX(TEXT_MAX);
	int rc = 0;

	if (d->is_unseen || !is_below(l->ed->q->filter[1], d->path))
		return 0;
	if (l->ed->q->flag) {
		rc = vfs_diff_text(&l->from, &l->to, d, &text, e);
		row.text = text.p;
	}
	if (rc == 0)
		list_item(&l->ed->out, &api_change_shape, &row);
	buf_fini(&text);
	return rc ? -1 : buf_ok(&l->ed->out, "the list of changes", e);
}

static int list_differences(struct edit *ed, struct agent_file *f,
			    struct vfs *v, struct err *e)
{
	struct difference_list l = {.ed = ed, .to = {.v = v}};
	int rc = open_origin(ed, f, v, &l.from, e);

	list_begin(&ed->out);
	if (rc == 0) {
		rc = vfs_diff(&l.from, &l.to, add_difference, &l, e);
		vfs_close(l.from.v);
	}
	list_end(&ed->out, NULL);
	return rc;
}

static void add_applied(void *arg, const struct vfs_difference *d,
			bool conflict)
{
	struct edit *ed = arg;
	struct api_change row = {vfs_difference_letter(d->kind), d->path, NULL,
				 conflict};

	list_item(&ed->out, &api_change_shape, &row);
}

static int apply_changes(struct edit *ed, struct agent_file *f, struct vfs *v,
			 struct err *e)
{
	const struct workspace_apply_body *body = ed->body;
	struct vfs_merge m = {.report = add_applied, .arg = ed};
	int rc;

	(void)f;
	if (body->strategy)
		m.strategy = !strcmp(body->strategy, "ours")
				     ? VFS_STRATEGY_PARENT
				     : VFS_STRATEGY_FORK;
	list_begin(&ed->out);
	rc = vfs_base(v) ? vfs_apply(v, &m, e) : vfs_merge(v, &m, e);
	list_end(&ed->out, NULL);
	return rc;
}

/* --- routes -------------------------------------------------------------- */

void route_workspace_snapshots(struct api_request *q)
{
	workspace_read(workspace_edit(q), list_snapshots);
}

void route_workspace_diff(struct api_request *q)
{
	q->filter[1] = request_query(q, "path");
	q->filter[2] = request_query(q, "from");
	q->flag = http_query_flag(q->http, "patch");
	workspace_read(workspace_edit(q), list_differences);
}

static void start_change(struct api_request *q, const void *body,
			 workspace_fn *change)
{
	struct edit *ed = workspace_edit(q);

	ed->body = body;
	workspace_change(ed, change);
}

void route_workspace_snapshot(struct api_request *q,
			      const struct workspace_snapshot_body *body)
{
	start_change(q, body, take_snapshot);
}

void route_workspace_rollback(struct api_request *q,
			      const struct workspace_snapshot_body *body)
{
	start_change(q, body, roll_back);
}

void route_workspace_apply(struct api_request *q,
			   const struct workspace_apply_body *body)
{
	start_change(q, body, apply_changes);
}

void route_workspace_discard(struct api_request *q)
{
	start_change(q, NULL, discard_changes);
}
