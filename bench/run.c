/* The options and the directory of a benchmark. */
#include "bench/harness.h"
#include "lib/base/text.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

double bench_seconds(const struct bench_run *r)
{
	if (r->seconds > 0)
		return r->seconds;
	return r->quick ? 0.05 : r->bench->seconds;
}

int bench_rounds(const struct bench_run *r)
{
	if (r->rounds > 0)
		return r->rounds;
	return r->quick ? 1 : r->bench->rounds;
}

bool bench_is_quick(const struct bench_run *r)
{
	return r->quick;
}

const char *bench_option(const struct bench_run *r, const char *name)
{
	for (size_t i = 0; i < r->noptions; i += 2)
		if (!strcmp(r->options[i], name))
			return r->options[i + 1];
	return NULL;
}

int64_t bench_option_i64(const struct bench_run *r, const char *name,
			 int64_t other)
{
	const char *text = bench_option(r, name);
	struct err e;

	if (text && text_i64(name, text, 0, INT64_MAX, &other, &e)) {
		(void)fprintf(stderr, "skep-bench: --%s\n", e.text);
		exit(err_exit_status(e.code));
	}
	return other;
}

static void make_temp(char *path)
{
	struct err e;

	if (mkdtemp(path))
		return;
	(void)err_errno_set(&e, "%s", path);
	(void)fprintf(stderr, "skep-bench: %s (see --dir)\n", e.text);
	exit(err_exit_status(e.code));
}

const char *bench_dir(struct bench_run *r, const char *name)
{
	char *path;

	if (!r->work[0]) {
		snprintf(r->work, sizeof r->work, "%.400s/skep-bench-XXXXXX",
			 r->dir);
		make_temp(r->work);
		/* peers leave temporary files behind */
		(void)setenv("TMPDIR", r->work, 1);
	}
	path = arena_printf(&r->arena, "%s/%s-XXXXXX", r->work, name);
	make_temp(path);
	return path;
}

static int remove_entry(const char *path, const struct stat *st, int kind,
			struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void bench_dir_remove(struct bench_run *r, const char *path)
{
	(void)r;
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
