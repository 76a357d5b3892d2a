/* The tools that work on one file or directory. */
#include "base/text.h"
#include "vfs/udiff.h"
#include "worker/mcp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *path_of(struct mcp *m, const cJSON *args, const char *name,
			   struct err *e)
{
	return below_path(&m->below, json_text(args, name, "."), e);
}

/* Only so many lines at the end. */
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
		return err_set(e, ERR_INVALID, "give head or tail, not both");
	if (below_read(&m->below, path, out, e))
		return -1;
	if (head >= 0)
		below_cut_lines(out, head > 0 ? 1 : INT64_MAX, head);
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

		path = name ? below_path(&m->below, name, e) : NULL;
		if (path && below_read(&m->below, path, &text, e) == 0) {
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

static int put(struct mcp *m, const cJSON *args, bool append, struct buf *out,
	       struct err *e)
{
	const char *path = path_of(m, args, "path", e);
	const char *text = json_text(args, "content", "");

	if (!path ||
	    (append ? below_append(&m->below, path, text, strlen(text), e)
		    : below_write(&m->below, path, text, strlen(text), e)))
		return -1;
	buf_addf(out, "%s %zu bytes to %s", append ? "Added" : "Wrote",
		 strlen(text), path);
	return 0;
}

int mcp_write(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	return put(m, args, false, out, e);
}

int mcp_append(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	return put(m, args, true, out, e);
}

/* Replaces the one place where `from` stands. */
static int replace(struct buf *text, const char *from, const char *to,
		   struct err *e)
{
	struct buf after = BUF_MAX(BELOW_FILE_MAX);
	const char *at = from[0] ? strstr(text->p, from) : NULL;
	int rc;

	if (!at)
		return err_set(e, ERR_NOTFOUND,
			       "the file does not hold this oldText: %s",
			       quoted(from).text);
	if (strstr(at + 1, from))
		return err_set(e, ERR_CONFLICT,
			       "this oldText is there more than once: %s",
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
	struct buf old = BUF_MAX(BELOW_FILE_MAX), new = BUF_MAX(BELOW_FILE_MAX);
	int rc = path ? below_read(&m->below, path, &old, e) : -1;

	if (rc == 0) {
		buf_add(&new, old.p, old.n);
		rc = edit_text(cJSON_GetObjectItemCaseSensitive(args, "edits"),
			       &new, e);
	}
	if (rc == 0 && !json_bool(args, "dryRun", false))
		rc = below_write(&m->below, path, new.p, new.n, e);
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

	if (!path || below_make_dir(&m->below, path, e))
		return -1;
	buf_addf(out, "%s is there", path);
	return 0;
}

static int list_one(void *arg, const struct below_item *item, struct err *e)
{
	struct buf *out = arg;

	(void)e;
	if (!item->leaving)
		buf_addf(out, "%s%s %s", out->n ? "\n" : "",
			 item->is_dir ? "[DIR]" : "[FILE]", item->name);
	return BELOW_SKIP;
}

int mcp_list(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *path = path_of(m, args, "path", e);

	return path ? below_walk(&m->below, path, list_one, out, e) : -1;
}

/* Both directories are opened without leaving the workspace; the names in them
 * are not looked through. */
int mcp_move(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *from = path_of(m, args, "source", e), *to = NULL;
	const char *name = NULL, *new = NULL;
	int a = -1, b = -1, rc = -1;

	if (from)
		to = path_of(m, args, "destination", e);
	if (to)
		a = below_parent(&m->below, from, false, &name, e);
	if (a >= 0)
		b = below_parent(&m->below, to, true, &new, e);
	if (b >= 0) {
		rc = renameat2(a, name, b, new, RENAME_NOREPLACE);
		if (rc)
			err_errno_set(e, "move %s to %s", quoted(from).text,
				      quoted(to).text);
		else
			buf_addf(out, "Moved %s to %s", from, to);
	}
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return rc;
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
	struct stat st;
	int fd, rc;

	fd = path ? below_open(&m->below, path, O_PATH, 0, e) : -1;
	if (fd < 0)
		return -1;
	rc = fstat(fd, &st);
	close(fd);
	if (rc)
		return err_errno_set(e, "%s", quoted(path).text);
	buf_addf(out, "size: %" PRId64 "\n", (int64_t)st.st_size);
	add_time(out, "modified", &st.st_mtim);
	add_time(out, "accessed", &st.st_atim);
	add_time(out, "changed", &st.st_ctim);
	buf_addf(out, "isDirectory: %s\nisFile: %s\npermissions: %03o",
		 S_ISDIR(st.st_mode) ? "true" : "false",
		 S_ISREG(st.st_mode) ? "true" : "false",
		 (unsigned)st.st_mode & 0777);
	return 0;
}

int mcp_allowed(struct mcp *m, const cJSON *args, struct buf *out,
		struct err *e)
{
	(void)args;
	(void)e;
	buf_addf(out, "Allowed directories:\n%s", m->below.dir);
	return 0;
}

int mcp_delete(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	const char *path = path_of(m, args, "path", e), *name;
	int dir, rc;

	dir = path ? below_parent(&m->below, path, false, &name, e) : -1;
	if (dir < 0)
		return -1;
	rc = unlinkat(dir, name, 0);
	if (rc && (errno == EISDIR || errno == EPERM))
		rc = unlinkat(dir, name, AT_REMOVEDIR);
	if (rc)
		err_errno_set(e, "delete %s", quoted(path).text);
	else
		buf_addf(out, "Deleted %s", path);
	close(dir);
	return rc;
}
