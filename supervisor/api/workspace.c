/* Files of the namespaces of an agent. A thread does the work
 * (write_async.h). */
#include "supervisor/api/workspace.h"

#include <string.h>
#include <sys/stat.h>

#include "lib/base/text.h"
#include "schema/agent_queries.h"
#include "vfs/core/journal.h"
#include "vfs/core/node.h"
#include "vfs/core/path.h"

#define FILE_MAX       ((size_t)64 << 20) /* of one answer */
#define NAMESPACES_MAX 100000

static int open_namespace(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct vfs *v;
	int rc = vfs_open(&v, f->db, ed->q->id, ed->q->by, e);

	if (rc == 0) {
		rc = ed->in_namespace(ed, f, v, e);
		vfs_close(v);
	}
	return rc;
}

void workspace_read(struct edit *ed, workspace_fn *fn)
{
	ed->reads_only = true;
	ed->in_namespace = fn;
	edit_start(ed, open_namespace);
}

void workspace_change(struct edit *ed, workspace_fn *fn)
{
	ed->in_namespace = fn;
	edit_start(ed, open_namespace);
}

struct edit *workspace_edit(struct api_request *q)
{
	struct edit *ed = edit_new(q);

	q->id = request_param(q, "namespace");
	return ed;
}

void workspace_done(struct edit *ed, const char *note)
{
	struct api_done done = {ed->q->id, true, note};

	json_add_shape(&ed->out, &api_done_shape, &done);
}

/* --- namespaces ---------------------------------------------------------- */

static const char *namespace_name(const struct vfs_ns_row *rows, int n,
				  int64_t id)
{
	for (int i = 0; i < n; i++)
		if (rows[i].id == id)
			return rows[i].name;
	return NULL;
}

static int list_workspaces(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct vfs_ns_row *rows;
	int n = sql_collect(f->db, Q_VFS_NS_LIST, NULL, NAMESPACES_MAX, &rows,
			    &ed->q->arena, e);

	list_begin(&ed->out);
	for (int i = 0; i < n; i++) {
		struct api_workspace row = {
			rows[i].name, rows[i].base,
			rows[i].parent ? namespace_name(rows, n, rows[i].parent)
				       : NULL,
			rows[i].made_at / 1000000};

		list_item(&ed->out, &api_workspace_shape, &row);
	}
	list_end(&ed->out, NULL);
	return n < 0 ? -1 : 0;
}

void route_workspaces(struct api_request *q)
{
	struct edit *ed = edit_new(q);

	ed->reads_only = true;
	edit_start(ed, list_workspaces);
}

/* --- files --------------------------------------------------------------- */

static const char *type_of(mode_t mode)
{
	return S_ISDIR(mode)   ? "directory"
	       : S_ISLNK(mode) ? "link"
	       : S_ISREG(mode) ? "file"
			       : "other";
}

static int add_file(struct edit *ed, struct vfs *v, const char *name,
		    const struct vfs_attr *a, struct err *e)
{
	struct buf target = BUF_MAX(8192);
	struct api_file row = {
		name,    type_of(a->mode),      (int64_t)(a->mode & 07777),
		a->size, a->modified / 1000000, NULL};
	int rc = S_ISLNK(a->mode) ? vfs_readlink(v, a->ino, &target, e) : 0;

	if (S_ISLNK(a->mode))
		row.target = target.p;
	if (rc == 0)
		list_item(&ed->out, &api_file_shape, &row);
	buf_fini(&target);
	return rc;
}

static int list_directory(struct edit *ed, struct agent_file *f, struct vfs *v,
			  struct err *e)
{
	const char *path = ed->q->filter[1] ? ed->q->filter[1] : "";
	struct vfs_dir d = {0};
	struct vfs_attr a;
	int rc = vfs_walk(v, path, VFS_FOLLOW, &a, e);

	(void)f;
	if (rc == 0 && !S_ISDIR(a.mode))
		rc = err_set(e, ERR_NOTDIR, "%s is not a directory",
			     quoted(path).text);
	if (rc == 0)
		rc = vfs_readdir(v, a.ino, &d, e);
	list_begin(&ed->out);
	for (size_t i = 0; rc == 0 && i < d.n; i++) {
		struct err gone;

		if (vfs_getattr(v, d.entries[i].ino, &a, &gone) == 0)
			rc = add_file(ed, v, d.entries[i].name, &a, e);
	}
	list_end(&ed->out, NULL);
	vfs_dir_fini(&d);
	return rc;
}

static int read_content(struct edit *ed, struct agent_file *f, struct vfs *v,
			struct err *e)
{
	(void)f;
	ed->out.max = FILE_MAX;
	return vfs_read_file(v, ed->q->filter[1], &ed->out, NULL, e);
}

static int write_content(struct edit *ed, struct agent_file *f, struct vfs *v,
			 struct err *e)
{
	static const struct vfs_put how = {.parents = true};
	const struct blob *bytes = ed->body;

	(void)f;
	if (vfs_write_file(v, ed->q->filter[1], *bytes, &how, e))
		return -1;
	workspace_done(ed, "written");
	return 0;
}

static int remove_path(struct edit *ed, struct agent_file *f, struct vfs *v,
		       struct err *e)
{
	(void)f;
	if (vfs_remove(v, ed->q->filter[1], true, e))
		return -1;
	workspace_done(ed, "deleted");
	return 0;
}

static int add_usage(struct edit *ed, struct agent_file *f, struct vfs *v,
		     struct err *e)
{
	struct vfs_usage u;
	struct api_workspace_usage row;

	(void)f;
	if (vfs_usage(v, &u, e))
		return -1;
	row = (struct api_workspace_usage){u.bytes, u.files, u.max_bytes,
					   u.max_files};
	json_add_shape(&ed->out, &api_workspace_usage_shape, &row);
	return 0;
}

/* An edit with the path of the request. */
static struct edit *edit_path(struct api_request *q)
{
	q->filter[1] = request_query(q, "path");
	return workspace_edit(q);
}

void route_workspace_files(struct api_request *q)
{
	workspace_read(edit_path(q), list_directory);
}

void route_workspace_file(struct api_request *q)
{
	struct edit *ed = edit_path(q);

	ed->type = "application/octet-stream";
	workspace_read(ed, read_content);
}

void route_workspace_usage(struct api_request *q)
{
	workspace_read(workspace_edit(q), add_usage);
}

void route_workspace_write(struct api_request *q, struct blob body)
{
	struct edit *ed = edit_path(q);
	struct blob *copy = arena_alloc(&q->arena, sizeof *copy);
	char *bytes = arena_alloc(&q->arena, body.n + 1);

	if (body.n)
		memcpy(bytes, body.p, body.n);
	*copy = (struct blob){bytes, body.n};
	ed->body = copy;
	workspace_change(ed, write_content);
}

void route_workspace_remove(struct api_request *q)
{
	workspace_change(edit_path(q), remove_path);
}

/* --- the journal --------------------------------------------------------- */

static void add_change(struct edit *ed, struct vfs *v,
		       const struct vfs_change *c)
{
	struct buf path = BUF_MAX(8192);
	struct err gone;
	struct api_workspace_change row = {.seq = c->seq,
					   .change = vfs_op_name(c->op),
					   .by = c->who,
					   .at = c->at / 1000000,
					   .run = c->run,
					   .turn = c->turn,
					   .tool = c->tool};

	/* a directory that was deleted later has no path any more */
	if (c->dir && c->name && vfs_path_of(v, c->dir, &path, &gone) == 0) {
		if (path.n)
			buf_addc(&path, '/');
		buf_adds(&path, c->name);
	} else if (!c->name && vfs_path_of(v, c->ino, &path, &gone) != 0) {
		buf_clear(&path);
	} else if (c->name && !path.n) {
		buf_adds(&path, c->name);
	}
	row.path = path.p ? path.p : "";
	list_item(&ed->out, &api_workspace_change_shape, &row);
	buf_fini(&path);
}

static int list_journal(struct edit *ed, struct agent_file *f, struct vfs *v,
			struct err *e)
{
	int64_t after = ed->rev, last;
	struct vfs_change *c;
	char next[24];
	int n;

	(void)f;
	if (after < 0) { /* the last ones */
		if (vfs_last_change(v, &last, e))
			return -1;
		after = last > ed->q->limit ? last - ed->q->limit : 0;
	}
	n = vfs_changes(v, after, (int)ed->q->limit, &c, &ed->q->arena, e);
	list_begin(&ed->out);
	for (int i = 0; i < n; i++)
		add_change(ed, v, &c[i]);
	if (n > 0)
		text_printf(next, sizeof next, "%lld", (long long)c[n - 1].seq);
	list_end(&ed->out, n == ed->q->limit ? next : NULL);
	return n < 0 ? -1 : 0;
}

void route_workspace_changes(struct api_request *q)
{
	struct edit *ed;
	struct err e = {0};
	int64_t after = -1;

	if (request_limit(q))
		return;
	if (http_query_i64(q->http, "after", (int64_t[]){0, INT64_MAX}, &after,
			   &e)) {
		request_fail(q, &e);
		return;
	}
	ed = workspace_edit(q);
	ed->rev = after;
	workspace_read(ed, list_journal);
}
