/*
 * Importing any bytes as JSON lines: either it is refused and nothing is there,
 * or what it made goes out and comes back the same.
 */
#include "tests/support/temp.h"

#include "schema/agent/transcript/branch.h"
#include "schema/agent/transcript/session_jsonl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct agent_file file;
static struct temp dir;

static void clean_up(void)
{
	agent_file_close(&file);
	temp_remove(&dir);
}

static void must(int rc, const struct err *e)
{
	if (rc == 0)
		return;
	fprintf(stderr, "%s\n", e->text);
	abort();
}

static void open_once(void)
{
	struct err e;

	if (file.db)
		return;
	temp_make(&dir);
	must(agent_file_open(&file, temp_join(&dir, "a.sqlite"), "ada",
			     SQL_CREATE, &e),
	     &e);
	atexit(clean_up);
}

struct lines {
	const char *at;
	size_t left;
};

static int next_line(const char **text, size_t *n, void *ctx, struct err *e)
{
	struct lines *l = ctx;
	const char *end = l->left ? memchr(l->at, '\n', l->left) : NULL;

	(void)e;
	if (l->left == 0)
		return 0;
	*text = l->at;
	*n = end ? (size_t)(end - l->at) : l->left;
	l->at += *n + (end != NULL);
	l->left -= *n + (end != NULL);
	return 1;
}

static int keep_line(const char *text, size_t n, void *ctx, struct err *e)
{
	(void)e;
	buf_add(ctx, text, n);
	return buf_addc(ctx, '\n');
}

static int64_t sessions(void)
{
	struct err e;
	int64_t n = -1;

	must(sql_script_i64(file.db, "SELECT count(*) FROM session", &n, &e),
	     &e);
	return n;
}

/* Exports the session and deletes it. */
static struct buf take_out(const char *key)
{
	struct buf out = BUF_MAX(64u << 20);
	struct err e;

	must(session_export_lines(&file, key, HISTORY_LOG, keep_line, &out, &e),
	     &e);
	must(session_delete(&file, key, &e), &e);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lines in = {(const char *)data, size};
	struct session_import_result made;
	struct buf once, twice;
	struct err e;

	open_once();
	if (session_import_lines(&file, NULL, next_line, &in, &made, &e)) {
		if (sessions() != 0)
			abort();
		return 0;
	}
	once = take_out(made.key);
	in = (struct lines){once.p, once.n};
	must(session_import_lines(&file, NULL, next_line, &in, &made, &e), &e);
	twice = take_out(made.key);
	if (once.n != twice.n || memcmp(once.p, twice.p, once.n) != 0) {
		fprintf(stderr, "once:\n%stwice:\n%s", once.p, twice.p);
		abort();
	}
	buf_fini(&once);
	buf_fini(&twice);
	return 0;
}
