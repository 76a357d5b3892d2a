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
	const char *name;
	/* 0 or more, or -errno. */
	long (*run)(struct model *m, const struct step *s);
	void (*clear)(struct model *m);
	char *(*picture)(struct model *m); /* the caller frees it */
	/* What is there without what a kernel remembers. May be NULL. */
	char *(*truth)(struct model *m);
	struct vfs *v;
	char root[PATH_MAX / 2];
	/* what step "hold" opened, for "held": it may have lost its name */
	int fd;
	int64_t ino;
};

void model_library(struct model *m, struct vfs *v);
void model_directory(struct model *m, const char *name,
		     const char *root); /* makes it */
/* `v` is what is mounted there. */
void model_mount(struct model *m, const char *root, struct vfs *v);

void steps_make(struct step *steps, int n, unsigned seed);
void step_text(const struct step *s, char *out, size_t room);
void step_path(unsigned number, char *out, size_t room);
void step_fill(const struct step *s, char *data); /* s->n bytes */
const char *step_target(const struct step *s);    /* of a link */
const char *step_attribute(const struct step *s); /* its name */
unsigned step_owner(const struct step *s);

#define STEP_BYTES 200000 /* a step has fewer */

/* Contents in one number. */
long step_sum(const char *data, long n);

/* The step after which the last one differs from another, or -1; `why`, if
 * any, has room for 1024. */
int model_compare(struct model *models[], int count, const struct step *steps,
		  int n, char *why);

enum step_kind {
#define STEP(name) STEP_##name,
#include "tests/support/vfs_model.def"
#undef STEP
	STEP_KINDS
};

#endif
