#ifndef TESTS_SUPPORT_VFS_MODEL_H
#define TESTS_SUPPORT_VFS_MODEL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A file tree that can be driven step by step: the library, or a directory.
 * Steps use few names, so that they meet each other often.
 */
struct vfs;

struct step {
	unsigned kind; /* an index into the table of kinds */
	unsigned a, b; /* paths, by number */
	int64_t off;
	size_t n;
	unsigned arg;
};

struct model {
	/* 0 or more, or -errno. */
	long (*run)(struct model *m, const struct step *s);
	void (*clear)(struct model *m);
	char *(*picture)(struct model *m); /* the caller frees it */
	struct vfs *v;
	char root[PATH_MAX / 2];
};

void model_library(struct model *m, struct vfs *v);
void model_directory(struct model *m, const char *root); /* makes it */

void steps_make(struct step *steps, int n, unsigned seed);
void step_text(const struct step *s, char *out, size_t room);
void step_path(unsigned number, char *out, size_t room);

/* The step at which they differ, or -1; `why`, if any, has room for 1024. */
int model_compare(struct model *a, struct model *b, const struct step *steps,
		  int n, char *why);

enum step_kind {
#define STEP(name) STEP_##name,
#include "tests/support/vfs_model.def"
#undef STEP
	STEP_KINDS
};

#endif
