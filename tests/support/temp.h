#ifndef TESTS_SUPPORT_TEMP_H
#define TESTS_SUPPORT_TEMP_H

#include <limits.h>

/* A directory of its own for one test, removed with all that is in it. */
struct temp {
	char path[PATH_MAX / 2];
};

void temp_make(struct temp *t);
void temp_remove(const struct temp *t);

/* "DIR/name", in a static ring of eight buffers. */
const char *temp_join(const struct temp *t, const char *name);

#endif
