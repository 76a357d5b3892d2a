#ifndef LIB_SANDBOX_HOMES_H
#define LIB_SANDBOX_HOMES_H

#include <limits.h>
#include <stdbool.h>

/*
 * Home directories: those of all users, and that of the commands. A command
 * sees only the parts of them that its definition names. The paths in
 * lib/sandbox/hidden.def stay hidden even below a named path, unless they are
 * named themselves.
 */
#define TOPS_MAX  64
#define HOMES_MAX (3 + TOPS_MAX)
#define KEYS_MAX  16

struct homes {
	const char *dir[HOMES_MAX]; /* borrowed */
	int n;
	char key[KEYS_MAX][PATH_MAX + 64];
	int nkeys;
	char top[TOPS_MAX][NAME_MAX + 2]; /* for dir */
	int ntops;
};

/* `home` is $HOME of the commands, or NULL. */
void homes_list(struct homes *h, const char *home);

/* Adds the other directories in /, except those of programs. */
void homes_add_rest(struct homes *h);

/* The path itself, or a path below it. */
bool path_is_below(const char *path, const char *dir);
bool homes_contain(const struct homes *h, const char *path);

#endif
