#ifndef LIB_SANDBOX_HOMES_H
#define LIB_SANDBOX_HOMES_H

#include "lib/base/arena.h"

#include <limits.h>
#include <stdbool.h>

/*
 * Home directories: those of all users, and that of the commands. A command
 * sees only the parts of them that its definition names. The paths in
 * lib/sandbox/hidden.def stay hidden even below a named path, unless they are
 * named themselves.
 *
 * A home may be behind a symbolic link, for instance if /home is on another
 * disk. The list has the real directory; homes_real() turns a path by the other
 * name into one by the real name.
 */
#define HOMES_OWN 3 /* /home, /root and $HOME */
#define TOPS_MAX  64
#define HOMES_MAX (HOMES_OWN + TOPS_MAX)
#define KEYS_MAX  16

struct homes {
	const char *dir[HOMES_MAX]; /* borrowed */
	int n;
	char key[KEYS_MAX][PATH_MAX + 64];
	int nkeys;
	char top[TOPS_MAX][NAME_MAX + 2]; /* for dir */
	int ntops;
	struct {
		const char *name; /* borrowed */
		char real[PATH_MAX];
	} links[HOMES_OWN];
	int nlinks;
};

/* `home` is $HOME of the commands, or NULL. */
void homes_list(struct homes *h, const char *home);

/* Adds the other directories in /, except those of programs. */
void homes_add_rest(struct homes *h);

/* The path itself if it is not behind such a link. */
const char *homes_real(const struct homes *h, const char *path,
		       struct arena *a);

/* The path itself, or a path below it. */
bool path_is_below(const char *path, const char *dir);
bool homes_contain(const struct homes *h, const char *path);

#endif
