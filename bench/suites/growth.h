#ifndef BENCH_SUITES_GROWTH_H
#define BENCH_SUITES_GROWTH_H

#include "lib/base/err.h"
#include "schema/agent/agent_file.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The operations of `skep-bench growth`. A part creates a world of n items and
 * runs its operations on it in order; each operation sees the results of the
 * previous ones.
 */
struct sql;
struct vfs;

struct growth_world {
	const char *dir; /* an empty directory */
	int64_t n;       /* runs, events or files */
	int64_t per_dir; /* files in a directory */
	int revision;    /* of the text that a change writes */
	struct sql *control;
	struct agent_file file;
	struct vfs *v, *other;
};

typedef int growth_step(struct growth_world *w, struct err *e);

struct growth_operation {
	const char *name;
	growth_step *prepare; /* not measured; or NULL */
	growth_step *call;
	bool repeat; /* changes nothing, so it is measured several times */
	double most; /* allowed exponent */
};

#define GROWTH_FLAT   0.3
#define GROWTH_LINEAR 1.05 /* 10 times as many: 11 times as long */

struct growth_part {
	const char *name, *about;
	int64_t per_dir; /* of growth_world; 0: n */
	growth_step *make;
	const struct growth_operation *operations; /* ends with {0} */
};

extern const struct growth_part growth_history;   /* runs and events */
extern const struct growth_part growth_tree;      /* 100 files a directory */
extern const struct growth_part growth_directory; /* all in one */

/* Operations of growth_port.c. */
growth_step growth_export_dir, growth_import_dir, growth_export_tar,
	growth_import_tar, growth_export_sqlar, growth_import_sqlar,
	growth_export_agentfs, growth_import_agentfs, growth_scratch_new,
	growth_scratch_snapshot, growth_scratch_list, growth_scratch_change,
	growth_scratch_diff, growth_scratch_apply, growth_scratch_discard,
	growth_other_new, growth_other_destroy;

/* Helpers of growth_files.c. */
int growth_visit(struct vfs *v, struct err *e);
int growth_change_some(struct growth_world *w, struct vfs *v, struct err *e);
int growth_open_other(struct growth_world *w, const char *name, struct err *e);

#endif
