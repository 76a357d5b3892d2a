/* Files with one JSON object per line: transcripts of OpenClaw, conversations
 * of Hiro, and anything with a role and a content. */
#include "ops/import/importer.h"

#include "lib/base/text.h"

#include <string.h>

static void plain_line(struct import_run *m, const cJSON *v, int64_t at)
{
	(void)at;
	import_message_row(m, v, source_pick(v, "content|body|text|message"),
			   NULL);
}

typedef void line_fn(struct import_run *m, const cJSON *v, int64_t at);

/* The number of unreadable lines, and the first of them. */
struct bad {
	int lines, first;
	bool open_end; /* it is the last line and has no newline yet */
	struct err why;
};

static void one_line(struct import_run *m, const char *text, size_t n, int line,
		     struct bad *bad, line_fn *fn)
{
	struct err e;
	cJSON *v = json_parse_object("line", text, n, &e);

	if (v) {
		fn(m, v, 0);
		cJSON_Delete(v);
		return;
	}
	if (bad->lines++ == 0) {
		bad->first = line;
		bad->why = e;
	}
}

static bool is_blank(const char *text, size_t n)
{
	while (n && strchr(" \t\r", *text) && *text)
		text++, n--;
	return n == 0;
}

static struct bad read_lines(struct import_run *m, const struct buf *b,
			     line_fn *fn)
{
	const char *at = b->p, *end = b->p + b->n;
	struct bad bad = {0};

	for (int line = 1; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop : end) - at);
		int before = bad.lines;

		if (!is_blank(at, n))
			one_line(m, at, n, line, &bad, fn);
		bad.open_end = !stop && bad.lines > before;
		at += n + 1;
	}
	return bad;
}

/* Why not everything could be read, or NULL. */
static const char *report_bad_line(struct import_run *m, const struct bad *bad)
{
	if (bad->lines == 0)
		return NULL;
	if (bad->lines == 1 && bad->open_end)
		return "its last line is incomplete; import it "
		       "again later";
	return arena_printf(&m->arena,
			    "%d lines could not be read; the first is line "
			    "%d: %s",
			    bad->lines, bad->first, bad->why.text);
}

static int add_lines(struct import_run *m, const struct source_session *p,
		     line_fn *fn, struct err *e)
{
	struct buf b = BUF_MAX(SOURCE_MAX);
	struct err why;
	int rc;

	if (source_read(m->file->path, &b, &why)) {
		import_unknown(m, NULL, 0, why.text);
		buf_fini(&b);
		return 0;
	}
	/* record what was read, whatever was written meanwhile */
	hash_of(b.p, b.n, m->file->mark.sha256);
	m->file->mark.bytes = (int64_t)b.n;
	rc = import_session(m, p, e);
	if (rc > 0) {
		struct bad bad = read_lines(m, &b, fn);

		rc = import_session_end(m, report_bad_line(m, &bad), e);
	}
	buf_fini(&b);
	return rc < 0 ? -1 : 0;
}

int import_jsonl(struct import_run *m, struct err *e)
{
	const char *path = m->file->path;
	const char *dir = path_above(&m->arena, path, 0);
	bool claw = !strcmp(dir, "sessions");
	bool hiro = !strcmp(dir, "conversations");
	struct source_session p = {.importer = claw   ? "openclaw"
					       : hiro ? "hiro"
						      : "jsonl",
				   .key = path_stem(&m->arena, path)};
	cJSON *about = NULL;
	int rc;

	if (claw)
		about = import_openclaw_about(m, &p);
	if (hiro)
		about = import_hiro_about(m, &p);
	p.row = about;
	m->file->claimed = true;
	rc = add_lines(m, &p, claw ? import_openclaw_line : plain_line, e);
	cJSON_Delete(about);
	return rc;
}
