/* Tools for one file or directory, and for the namespace. */
#include "lib/base/text.h"
#include "vfs/snapshot/udiff.h"
#include "worker/mcp/mcp.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *path_of(struct mcp *m, const cJSON *args, const char *name,
			   struct err *e)
{
	return beneath_path(&m->store->beneath, json_text(args, name, "."), e);
}

/* Keeps only so many lines at the end. */
static void cut_tail(struct buf *text, int64_t lines)
{
	size_t at = text->n;

	while (at > 0 && lines > 0) {
		size_t k = at - 1;

		while (k > 0 && text->p[k - 1] != '\n')
			k--;
		at = k;
		lines--;
	}
	buf_drop(text, at);
}

int mcp_read(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *path = path_of(m, args, "path", e);
	int64_t head = json_i64(args, "head", -1);
	int64_t tail = json_i64(args, "tail", -1);

	if (!path)
		return -1;
	if (head >= 0 && tail >= 0)
		return err_set(e, ERR_INVALID,
			       "head and tail cannot be used together");
	if (files_read(m->store, path, out, e))
		return -1;
	if (head >= 0)
		beneath_cut_lines(out, head > 0 ? 1 : INT64_MAX, head);
	if (tail >= 0)
		cut_tail(out, tail);
	return 0;
}

int mcp_read_many(struct mcp *m, const cJSON *args, struct buf *out,
		  struct err *e)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(args, "paths");
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		const char *name = cJSON_GetStringValue(v), *path;
		struct buf text = BUF_MAX(MCP_TEXT_MAX);

		path = name ? beneath_path(&m->store->beneath, name, e) : NULL;
		if (path && files_read(m->store, path, &text, e) == 0) {
			buf_addf(out, "%s:\n", name);
			buf_add(out, text.p, text.n);
		} else {
			buf_addf(out, "%s: error: %s", name ? name : "?",
				 name ? e->text : "not a text");
		}
		buf_adds(out, "\n---\n");
		buf_fini(&text);
	}
	return 0;
}

static int write_text(struct mcp *m, const char *path, const char *text,
		      size_t n, enum files_put how, struct err *e)
{
	return m->store->kind->put(m->store, path, (struct blob){text, n}, how,
				   e);
}

static int put_workspace_file(struct mcp *m, const cJSON *args,
			      enum files_put how, struct buf *out,
			      struct err *e)
{
	const char *path = path_of(m, args, "path", e);
	const char *text = json_text(args, "content", "");

	if (!path || write_text(m, path, text, strlen(text), how, e))
		return -1;
	buf_addf(out, "%s %zu bytes to %s",
		 how == FILES_APPEND ? "Added" : "Wrote", strlen(text), path);
	return 0;
}

int mcp_write(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	return put_workspace_file(m, args, FILES_REPLACE, out, e);
}

int mcp_append(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	return put_workspace_file(m, args, FILES_APPEND, out, e);
}

/* Replaces the only occurrence of `from`. */
static int replace(struct buf *text, const char *from, const char *to,
		   struct err *e)
{
	struct buf after = BUF_MAX(BENEATH_FILE_MAX);
	const char *at = from[0] ? strstr(text->p, from) : NULL;
	int rc;

	if (!at)
		return err_set(e, ERR_NOTFOUND,
			       "oldText does not occur in the file: %s",
			       quoted(from).text);
	if (strstr(at + 1, from))
		return err_set(e, ERR_CONFLICT,
			       "oldText occurs more than once: %s",
			       quoted(from).text);
	buf_add(&after, text->p, (size_t)(at - text->p));
	buf_adds(&after, to);
	buf_adds(&after, at + strlen(from));
	rc = buf_ok(&after, "the file", e);
	buf_clear(text);
	buf_add(text, after.p, after.n);
	buf_fini(&after);
	return rc;
}

static int edit_text(const cJSON *edits, struct buf *text, struct err *e)
{
	const cJSON *v;

	if (memchr(text->p, '\0', text->n))
		return err_set(e, ERR_INVALID, "this is not a text file");
	cJSON_ArrayForEach(v, edits)
	{
		const char *from = json_text(v, "oldText", NULL);
		const char *to = json_text(v, "newText", NULL);

		if (!from || !to)
			return err_set(e, ERR_INVALID,
				       "an edit needs oldText and newText");
		if (replace(text, from, to, e))
			return -1;
	}
	return 0;
}

int mcp_edit(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *path = path_of(m, args, "path", e);
	struct buf old = BUF_MAX(BENEATH_FILE_MAX),
		   new = BUF_MAX(BENEATH_FILE_MAX);
	int rc = path ? files_read(m->store, path, &old, e) : -1;

	if (rc == 0) {
		buf_add(&new, old.p, old.n);
		rc = edit_text(cJSON_GetObjectItemCaseSensitive(args, "edits"),
			       &new, e);
	}
	if (rc == 0 && !json_bool(args, "dryRun", false))
		rc = write_text(m, path, new.p, new.n, FILES_REPLACE, e);
	if (rc == 0)
		udiff(&(struct udiff){.path = path,
				      .a = old.p,
				      .an = old.n,
				      .b = new.p,
				      .bn = new.n},
		      out);
	buf_fini(&old);
	buf_fini(&new);
	return rc;
}

int mcp_make_dir(struct mcp *m, const cJSON *args, struct buf *out,
		 struct err *e)
{
	const char *path = path_of(m, args, "path", e);

	if (!path || m->store->kind->make_dir(m->store, path, e))
		return -1;
	buf_addf(out, "%s exists", path);
	return 0;
}

static int list_one(void *arg, const struct beneath_item *item, struct err *e)
{
	struct buf *out = arg;

	(void)e;
	if (!item->leaving)
		buf_addf(out, "%s%s %s", out->n ? "\n" : "",
			 item->is_dir ? "[DIR]" : "[FILE]", item->name);
	return BENEATH_SKIP;
}

int mcp_list(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *path = path_of(m, args, "path", e);

	return path ? m->store->kind->walk(m->store, path, list_one, out, e)
		    : -1;
}

int mcp_move(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *from = path_of(m, args, "source", e), *to = NULL;

	if (from)
		to = path_of(m, args, "destination", e);
	if (!to || m->store->kind->move(m->store, from, to, e))
		return -1;
	buf_addf(out, "Moved %s to %s", from, to);
	return 0;
}

static void add_time(struct buf *out, const char *name,
		     const struct timespec *t)
{
	char text[64];
	struct tm tm;

	gmtime_r(&t->tv_sec, &tm);
	if (strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
		buf_addf(out, "%s: %s\n", name, text);
}

int mcp_info(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *path = path_of(m, args, "path", e);
	struct files_info st;

	if (!path || m->store->kind->info(m->store, path, &st, e))
		return -1;
	buf_addf(out, "size: %" PRId64 "\n", st.size);
	add_time(out, "modified", &st.modified);
	add_time(out, "accessed", &st.accessed);
	add_time(out, "changed", &st.changed);
	buf_addf(out, "isDirectory: %s\nisFile: %s\npermissions: %03o",
		 S_ISDIR(st.mode) ? "true" : "false",
		 S_ISREG(st.mode) ? "true" : "false", (unsigned)st.mode & 0777);
	return 0;
}

int mcp_allowed(struct mcp *m, const cJSON *args, struct buf *out,
		struct err *e)
{
	(void)args;
	(void)e;
	buf_addf(out, "Allowed directories:\n%s", m->store->beneath.dir);
	return 0;
}

int mcp_delete(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *path = path_of(m, args, "path", e);

	if (!path || m->store->kind->drop(m->store, path, e))
		return -1;
	buf_addf(out, "Deleted %s", path);
	return 0;
}

int mcp_snapshot(struct mcp *m, const cJSON *args, struct buf *out,
		 struct err *e)
{
	const char *name = json_text(args, "name", "");

	if (m->store->kind->snapshot(m->store, name, e))
		return -1;
	buf_addf(out, "Kept as %s", name);
	return 0;
}

int mcp_diff(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *from = json_text(args, "from", "");

	if (m->store->kind->diff(m->store, from, out, e))
		return -1;
	if (out->n == 0)
		buf_adds(out, "Nothing has changed");
	return 0;
}
