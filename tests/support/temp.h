#ifndef TESTS_SUPPORT_TEMP_H
#define TESTS_SUPPORT_TEMP_H

#include <limits.h>

/* A directory of its own for one test, removed with all that is in it. */
struct temp {
	char path[PATH_MAX / 2];
};

void temp_make(struct temp *t);
void temp_remove(const struct temp *t);

/* Makes a directory with copies of the files and directories of another, for
 * tests that begin many times with what is slow to make. */
void temp_copy(struct temp *t, const struct temp *from);

/* "DIR/name", in a static ring of eight buffers. */
const char *temp_join(const struct temp *t, const char *name);

#endif
