/* What a run changed in its workspace, and the way back. A thread does the work
 * (write_async.h). */
#include "supervisor/api/change_list.h"

#include <string.h>

#include "lib/base/text.h"
#include "vfs/marker/run_changes.h"

#define TEXT_MAX ((size_t)16 << 20) /* of the diff of one path */

int change_list_add(void *arg, const struct vfs_difference *d, struct err *e)
{
	struct change_list *l = arg;
	struct buf text = BUF_MAX(TEXT_MAX);
	struct api_change row = {vfs_difference_letter(d->kind), d->path, NULL,
				 false};
	int rc = l->text ? vfs_diff_text(&l->from, &l->to, d, &text, e) : 0;

	if (l->text)
		row.text = text.p;
	if (rc == 0)
		list_item(&l->ed->out, &api_change_shape, &row);
	buf_fini(&text);
	return rc ? -1 : buf_ok(&l->ed->out, "the list of changes", e);
}

static int list_changes(struct edit *ed, struct agent_file *f, struct err *e)
{
	struct api_request *q = ed->q;
	struct change_list l = {.ed = ed, .text = q->flag};
	const char *path = q->filter[1];
	struct run_changes c;
	int rc = run_changes_open(&c, f, q->id, q->limit, e);

	list_begin(&ed->out);
	if (rc == 0) {
		l.from.v = c.from;
		l.to.v = c.to;
		rc = run_changes_list(&c, &path, path != NULL, change_list_add,
				      &l, e);
		run_changes_close(&c);
	}
	list_end(&ed->out, NULL);
	return rc;
}

struct edit *edit_run(struct api_request *q)
{
	struct err e = {0};
	struct run_row row;
	int found;

	q->id = request_param(q, "id");
	found = sql_get(supervisor_db(q->api->sup), Q_RUN_GET,
			&(struct run_get_in){q->id}, &row, &q->arena, &e);
	if (found > 0) {
		q->key = row.session;
		return edit_of(q, row.agent);
	}
	if (found == 0)
		err_set(&e, ERR_NOTFOUND, "there is no run %s",
			quoted(q->id).text);
	request_fail(q, &e);
	return NULL;
}

void route_run_diff(struct api_request *q)
{
	struct edit *ed;
	struct err e = {0};

	q->limit = 0;
	if (http_query_i64(q->http, "turn", (int64_t[]){1, INT32_MAX},
			   &q->limit, &e)) {
		request_fail(q, &e);
		return;
	}
	q->filter[1] = request_query(q, "path");
	q->flag = http_query_flag(q->http, "patch");
	ed = edit_run(q);
	if (!ed)
		return;
	ed->reads_only = true;
	edit_start(ed, list_changes);
}

static void add_reverted(void *arg, const struct vfs_difference *d,
			 bool conflict)
{
	struct edit *ed = arg;
	struct api_change row = {vfs_difference_letter(d->kind), d->path, NULL,
				 conflict};

	list_item(&ed->out, &api_change_shape, &row);
}

/* The texts of a JSON array, in the arena: how many, or -1. */
static int read_paths(struct edit *ed, const char *json,
		      const char *const **out, struct err *e)
{
	cJSON *list = json ? json_parse("paths", json, strlen(json), e) : NULL;
	const char **paths;
	int n = cJSON_GetArraySize(list);

	if (json && !list)
		return -1;
	paths = arena_alloc(&ed->q->arena, (size_t)(n + 1) * sizeof *paths);
	for (int i = 0; i < n; i++) {
		const char *text = cJSON_GetStringValue(
			cJSON_GetArrayItem(list, i));

		paths[i] = arena_text(&ed->q->arena, text ? text : "");
	}
	cJSON_Delete(list);
	*out = paths;
	return n;
}

static int revert_changes(struct edit *ed, struct agent_file *f, struct err *e)
{
	const struct run_revert_body *body = ed->body;
	struct vfs_merge m = {.report = add_reverted, .arg = ed};
	const char *const *paths;
	struct run_changes c;
	int rc, n = read_paths(ed, body->paths, &paths, e);

	if (n < 0 || run_changes_open(&c, f, ed->q->id, body->turn, e))
		return -1;
	if (body->force)
		m.strategy = VFS_STRATEGY_FORK;
	list_begin(&ed->out);
	rc = run_changes_revert(&c, paths, n, &m, e);
	list_end(&ed->out, NULL);
	run_changes_close(&c);
	return rc;
}

void route_run_revert(struct api_request *q, const struct run_revert_body *body)
{
	struct edit *ed = edit_run(q);

	if (!ed)
		return;
	ed->body = body;
	edit_start(ed, revert_changes);
}
