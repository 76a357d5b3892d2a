/* Tools that search everything below a directory. */
#include "lib/base/text.h"
#include "worker/mcp/mcp.h"

#include <fnmatch.h>
#include <regex.h>
#include <string.h>

#define FOUND_MAX  20000 /* entries or lines in one answer */
#define LINE_SHOWN 400   /* bytes of a matching line */

struct find {
	struct mcp *mcp;
	struct buf *out;
	const char *start;
	const char *pattern;
	const cJSON *exclude;
	regex_t regex;
	int found;
};

/* Matches the name, or the path if the pattern contains a directory. */
static bool fits(const char *pattern, const struct beneath_item *item)
{
	return fnmatch(pattern, item->name, 0) == 0 ||
	       fnmatch(pattern, item->path, 0) == 0;
}

static bool is_excluded(const struct find *f, const struct beneath_item *item)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, f->exclude)
	{
		if (cJSON_IsString(v) && fits(v->valuestring, item))
			return true;
	}
	return false;
}

static int enough(struct find *f, struct err *e)
{
	if (f->found++ < FOUND_MAX)
		return 0;
	return err_set(e, ERR_TOOBIG,
		       "more than %d results; search a smaller "
		       "directory",
		       FOUND_MAX);
}

static const char *begin_find(struct mcp *m, const cJSON *args, struct find *f,
			      struct buf *out, struct err *e)
{
	*f = (struct find){.mcp = m,
			   .out = out,
			   .pattern = json_text(args, "pattern", "*"),
			   .exclude = cJSON_GetObjectItemCaseSensitive(
				   args, "excludePatterns")};
	f->start = beneath_path(&m->store->beneath,
				json_text(args, "path", "."), e);
	return f->start;
}

static void add_path(const struct find *f, const struct beneath_item *item)
{
	if (strcmp(f->start, ".") != 0)
		buf_addf(f->out, "%s/", f->start);
	buf_adds(f->out, item->path);
}

/* --- directory_tree --------------------------------------------------- */

static int tree_one(void *arg, const struct beneath_item *item, struct err *e)
{
	struct find *f = arg;

	if (item->leaving) {
		json_end_array(f->out);
		json_end_object(f->out);
		return 0;
	}
	if (is_excluded(f, item))
		return BENEATH_SKIP;
	if (enough(f, e))
		return -1;
	json_begin_object(f->out);
	json_put_text(f->out, "name", item->name);
	json_put_text(f->out, "type", item->is_dir ? "directory" : "file");
	if (item->is_dir)
		json_put_array(f->out, "children"); /* ends when it is left */
	else
		json_end_object(f->out);
	return 0;
}

int mcp_tree(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	struct find f;

	if (!begin_find(m, args, &f, out, e))
		return -1;
	json_begin_array(out);
	if (m->store->kind->walk(m->store, f.start, tree_one, &f, e))
		return -1;
	json_end_array(out);
	return 0;
}

/* --- search_files ----------------------------------------------------- */

static int search_one(void *arg, const struct beneath_item *item, struct err *e)
{
	struct find *f = arg;

	if (item->leaving)
		return 0;
	if (is_excluded(f, item))
		return BENEATH_SKIP;
	if (!fits(f->pattern, item))
		return 0;
	if (enough(f, e))
		return -1;
	if (f->out->n)
		buf_addc(f->out, '\n');
	add_path(f, item);
	return 0;
}

int mcp_search(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	struct find f;

	if (!begin_find(m, args, &f, out, e) ||
	    m->store->kind->walk(m->store, f.start, search_one, &f, e))
		return -1;
	if (out->n == 0)
		buf_adds(out, "No matches found");
	return 0;
}

/* --- grep ------------------------------------------------------------- */

static int grep_line(struct find *f, const struct beneath_item *item, int line,
		     const char *text, struct err *e)
{
	if (regexec(&f->regex, text, 0, NULL, 0) != 0)
		return 0;
	if (enough(f, e))
		return -1;
	if (f->out->n)
		buf_addc(f->out, '\n');
	add_path(f, item);
	buf_addf(f->out, ":%d:", line);
	buf_add_fit(f->out, text, LINE_SHOWN);
	return 0;
}

/* A file with a NUL is not text. An unreadable file is skipped. */
static int grep_file(struct find *f, const struct beneath_item *item,
		     struct err *e)
{
	struct buf text = BUF_MAX(BENEATH_FILE_MAX), path = BUF_MAX(1 << 16);
	struct err ignored;
	int rc = 0, line = 1;
	char *at, *end;

	buf_addf(&path, "%s/%s", f->start, item->path);
	if (files_read(f->mcp->store, path.p, &text, &ignored) ||
	    memchr(text.p, '\0', text.n))
		buf_clear(&text);
	for (at = text.p; rc == 0 && *at; at = end + 1, line++) {
		end = strchr(at, '\n');
		if (end)
			*end = '\0';
		rc = grep_line(f, item, line, at, e);
		if (!end)
			break;
	}
	buf_fini(&text);
	buf_fini(&path);
	return rc;
}

static int grep_one(void *arg, const struct beneath_item *item, struct err *e)
{
	struct find *f = arg;

	if (item->leaving || !item->is_file)
		return 0;
	if (f->pattern && !fits(f->pattern, item))
		return 0;
	return grep_file(f, item, e);
}

int mcp_grep(struct mcp *m, const cJSON *args, struct buf *out, struct err *e)
{
	bool fold = json_bool(args, "ignoreCase", false);
	struct find f;
	char why[128];
	int rc;

	if (!begin_find(m, args, &f, out, e))
		return -1;
	rc = regcomp(&f.regex, f.pattern,
		     REG_EXTENDED | REG_NOSUB | (fold ? REG_ICASE : 0));
	if (rc) {
		regerror(rc, &f.regex, why, sizeof why);
		return err_set(e, ERR_INVALID, "the pattern: %s", why);
	}
	f.pattern = json_text(args, "include", NULL);
	rc = m->store->kind->walk(m->store, f.start, grep_one, &f, e);
	regfree(&f.regex);
	if (rc == 0 && out->n == 0)
		buf_adds(out, "No matches found");
	return rc;
}
