#ifndef SCHEMA_HOME_H
#define SCHEMA_HOME_H

#include "lib/base/err.h"

#include <limits.h>
#include <sys/types.h>

/*
 * The directory that contains all data of one skep, and the paths below it:
 * $SKEP_HOME, or ~/.skep. Unset, empty and the literal words "undefined" and
 * "null" (from faulty scripts) all mean: not set.
 */
enum home_place {
#define HOME(name, path, directory) HOME_##name,
#include "schema/home.def"
#undef HOME
	HOME_PLACES
};

struct home {
	char root[PATH_MAX - 256]; /* absolute; short enough for all paths below
				    * it */
};

/* `override` is a --home option or NULL. Creates nothing. */
int home_find(struct home *h, const char *override, struct err *e);

/* Creates the root and all its directories, 0700. */
int home_make(const struct home *h, struct err *e);

/*
 * The lock of the supervisor of a home. It is on the directory itself, so it
 * does not depend on any file in it. Returns a descriptor that holds it until
 * it is closed, or -1: ERR_BUSY if another process has it. home_is_locked
 * returns 1, 0 or -1.
 */
int home_lock(const struct home *h, struct err *e);
int home_is_locked(const struct home *h, struct err *e);

/* The process that has the lock, from /proc/locks; 0 if it is not listed. */
pid_t home_lock_holder(const struct home *h);

/* Writes the absolute path to out. */
struct home_path {
	char text[PATH_MAX];
};

/* Returns 0, or -1 with the first existing directory that this user cannot
 * write. */
int home_is_writable(const struct home *h, struct err *e);

struct home_path home_path(const struct home *h, enum home_place place);
struct home_path home_join(const struct home *h, enum home_place place,
			   const char *below);

/* A namespace must not show the files of the home `root`: ERR_USAGE if `dir`
 * contains the home, or is in it and not in the workspace of an agent. */
int home_check_lower(const char *root, const char *dir, struct err *e);

/* Value of an environment variable; NULL for unset, "", "undefined" and
 * "null". */
const char *home_env(const char *name);

#endif
