#ifndef LIB_OS_PROGRAM_PATH_H
#define LIB_OS_PROGRAM_PATH_H

#include <limits.h>
#include <stdbool.h>

/* The path of a program of ours: all of one build are in one directory. "" gives
 * that directory, with a slash at its end. */
struct program_path {
	char text[PATH_MAX];
};

struct program_path program_path(const char *name);

/* Whether the file is an executable one; whether the directories of a list as in
 * PATH (NULL: PATH itself) have a program with this name. */
bool program_is_file(const char *path);
bool program_in_path(const char *name, const char *list);

#endif
