#include "vfs/search/grep.h"

#include "lib/base/buf.h"
#include "vfs/core/visit.h"
#include "vfs/snapshot/diff_source.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX ((size_t)1 << 30)

struct search {
	struct vfs *v;
	const struct vfs_grep *g;
	vfs_match_fn *fn;
	void *arg;
	regex_t re;
	bool use_re;
	size_t pattern_n;
	struct buf text;
};

/* Start of the next match in [p, end), or NULL. The text is NUL-terminated. */
static const char *next_match(struct search *s, const char *p, const char *end)
{
	regmatch_t at = {.rm_so = 0, .rm_eo = (regoff_t)(end - p)};

	if (!s->use_re)
		return memmem(p, (size_t)(end - p), s->g->pattern,
			      s->pattern_n);
	if (regexec(&s->re, p, 1, &at, REG_STARTEND) != 0)
		return NULL;
	return p + at.rm_so;
}

static int64_t lines_in(const char *p, const char *end)
{
	int64_t n = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		n++;
		p++;
	}
	return n;
}

static int search_text(struct search *s, const char *path, struct err *e)
{
	const char *p = s->text.p, *end = p + s->text.n, *hit, *counted = p;
	int64_t line = 1;

	while (p < end && (hit = next_match(s, p, end))) {
		const char *from = memrchr(p, '\n', (size_t)(hit - p));
		const char *to = memchr(hit, '\n', (size_t)(end - hit));
		struct vfs_match m = {.path = path};
		int rc;

		from = from ? from + 1 : p;
		to = to ? to : end;
		line += lines_in(counted, from);
		counted = from;
		m.line = line;
		m.text = from;
		m.n = (size_t)(to - from);
		rc = s->fn(s->arg, &m, e);
		if (rc || s->g->names_only)
			return rc;
		p = to + 1;
	}
	return 0;
}

static int grep_file(void *arg, const struct vfs_found *f, struct err *e)
{
	struct search *s = arg;
	struct diff_source side = {.v = s->v};
	size_t head;

	if (!S_ISREG(f->attr.mode) || f->attr.size == 0 ||
	    f->attr.size > (int64_t)FILE_MAX / 2 ||
	    (s->g->glob && !vfs_glob(s->g->glob, f)))
		return 0;
	buf_clear(&s->text);
	if (diff_source_content(&side, f->path, &f->attr, &s->text, e))
		return e->code == ERR_STALE ? 0 : -1; /* the host's, and gone */
	head = s->text.n < 8000 ? s->text.n : 8000;
	if (memchr(s->text.p, '\0', head))
		return 0;
	return search_text(s, f->path, e);
}

static int compile(struct search *s, struct err *e)
{
	int flags = REG_EXTENDED | REG_NEWLINE;
	struct buf quoted = BUF_MAX(1 << 20);
	int rc;

	s->use_re = s->g->regex || s->g->ignore_case;
	if (!s->use_re)
		return 0;
	if (s->g->ignore_case)
		flags |= REG_ICASE;
	for (const char *p = s->g->pattern; *p; p++) {
		if (!s->g->regex && strchr("\\^$.[]|()*+?{}", *p))
			buf_addc(&quoted, '\\');
		buf_addc(&quoted, *p);
	}
	rc = regcomp(&s->re, quoted.p, flags);
	if (rc) {
		char why[200];

		regerror(rc, &s->re, why, sizeof why);
		err_set(e, ERR_USAGE, "invalid regular expression: %s", why);
	}
	buf_fini(&quoted);
	return rc ? -1 : 0;
}

int vfs_grep(struct vfs *v, const char *start, const struct vfs_grep *g,
	     vfs_match_fn *fn, void *arg, struct err *e)
{
	struct search s = {.v = v,
			   .g = g,
			   .fn = fn,
			   .arg = arg,
			   .pattern_n = strlen(g->pattern)};
	int rc;

	if (s.pattern_n == 0)
		return err_set(e, ERR_USAGE, "the pattern is empty");
	if (compile(&s, e))
		return -1;
	buf_init(&s.text, FILE_MAX);
	rc = vfs_visit(v, start, grep_file, &s, e);
	buf_fini(&s.text);
	if (s.use_re)
		regfree(&s.re);
	return rc;
}
