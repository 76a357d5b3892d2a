#ifndef SCHEMA_HOME_H
#define SCHEMA_HOME_H

#include "lib/base/err.h"

#include <limits.h>
#include <sys/types.h>

/*
 * The directory that holds everything of one skep, and the places below it.
 * $SKEP_HOME, or ~/.skep. Unset, empty and the literal words "undefined" and
 * "null" (scripts that went wrong) all mean: not set.
 */
enum home_place {
#define HOME(name, path, directory) HOME_##name,
#include "schema/home.def"
#undef HOME
	HOME_PLACES
};

struct home {
	char root[PATH_MAX - 256]; /* absolute; leaves room for all below it */
};

/* `override` is a --home option or NULL. Makes nothing on disk. */
int home_find(struct home *h, const char *override, struct err *e);

/* Makes the root and all its directories, 0700. */
int home_make(const struct home *h, struct err *e);

/*
 * The lock of the one supervisor of a home: on the directory itself, so that it
 * does not depend on any file in it. A descriptor that holds it until it is
 * closed, or -1: ERR_BUSY if another process has it. home_is_locked: 1, 0 or -1.
 */
int home_lock(const struct home *h, struct err *e);
int home_is_locked(const struct home *h, struct err *e);

/* The process that has the lock, by the kernel's list; 0 if none is seen. */
pid_t home_lock_holder(const struct home *h);

/* Absolute path of a place, into out. */
struct home_path {
	char text[PATH_MAX];
};

/* 0, or -1 with the first directory that there is and that this user cannot
 * write. */
int home_is_writable(const struct home *h, struct err *e);

struct home_path home_path(const struct home *h, enum home_place place);
struct home_path home_join(const struct home *h, enum home_place place,
			   const char *below);

/* Value of an environment variable; unset, "", "undefined", "null" give NULL. */
const char *home_env(const char *name);

#endif
