#ifndef BENCH_SUITES_TREE_H
#define BENCH_SUITES_TREE_H

#include "bench/bench.h"
#include "lib/base/err.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Stores of file trees, for the benchmarks vfs and fuse. A tree has directories
 * "d0" to "d99" with permanent files, and "e0" to "e99" with files that are
 * created meanwhile; it is accessed by path. One call is one commit unless it
 * is between begin and end.
 */
#define TREE_DIRS 100

struct tree_kind {
	const char *name;
	int (*open)(void **out, const char *dir, struct err *e);
	void (*close)(void *t);
	int (*begin)(void *t, struct err *e);
	int (*end)(void *t, struct err *e);
	int (*mkdir)(void *t, const char *path, struct err *e);
	int (*put)(void *t, const char *path, const void *p, size_t n,
		   struct err *e); /* a new file */
	int (*get)(void *t, const char *path, void *p, size_t n,
		   struct err *e); /* all n bytes */
	int (*stat)(void *t, const char *path, int64_t *size, struct err *e);
	int (*list)(void *t, const char *path, int *n, struct err *e);
	int (*patch)(void *t, const char *path, int64_t off, const void *p,
		     size_t n, struct err *e);
	int (*move)(void *t, const char *from, const char *to, struct err *e);
	int (*remove)(void *t, const char *path, struct err *e);
};

extern const struct tree_kind tree_ours, tree_sqlite, tree_dir;

/* One operation for a while. */
struct tree_pass {
	const char *metric;
	double seconds;
	int64_t max; /* times */
	int64_t n;   /* out: times */
	double us;   /* out: each */
};

/* One side of the comparison: a kind, or a program that measures itself. */
struct tree_side {
	const char *name;
	const struct tree_kind *kind;
	int (*timed)(struct tree_side *s, struct tree_pass *p, struct err *e);
	void (*stop)(struct tree_side *s);
	const char *dir;
	/* of the harness */
	void *tree;
	int made; /* number of created files, for new names */
};

int tree_files(const struct bench_run *r); /* in a tree at the start */

/* Creates a source tree, the same every time, in an empty directory. */
int tree_make(const char *dir, int files, struct err *e);

/* Makes s (name and dir are set) a side for AgentFS's SDK, already filled.
 * ERR_UNSUPPORTED names what is missing. */
int tree_agentfs(struct tree_side *s, int files, struct err *e);

/* Runs all operations on all sides in interleaved rounds; the first side is
 * ours, which is compared with the others. Metrics get `prefix`. */
int tree_bench(struct bench_run *r, struct tree_side *sides, size_t n,
	       const char *prefix, struct err *e);

/* Compares the results of an operation, ours first, with the target
 * (tree_targets.def). */
void tree_targets(struct bench_run *r, const char *metric,
		  const struct bench_result *res, size_t n);
/* One figure with a maximum. */
void tree_limit(struct bench_run *r, const char *metric, const char *unit,
		double value, double most);

#endif
