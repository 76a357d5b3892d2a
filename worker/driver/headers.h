#ifndef WORKER_DRIVER_HEADERS_H
#define WORKER_DRIVER_HEADERS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

/*
 * Headers of HTTP requests in a definition:
 *
 *   "headers": {"X-Title": "skep", "X-Api-Key": {"file": "name"},
 *               "Authorization": {"env": "NAME", "prefix": "Bearer "}}
 *
 * A definition is stored, so a header with a secret must refer to it: to a file
 * in credentials/, or to a variable of skepd's environment.
 */
struct header {
	const char *name;
	const char *value;
	const char *secret; /* the end of value that came from a reference, or
			     * NULL */
};

struct headers {
	struct header *list;
	int n;
};

/* Everything is in a. ERR_INVALID names the invalid header. v may be NULL. */
int headers_read(struct headers *h, const cJSON *v, const char *home,
		 struct arena *a, struct err *e);

/* Reads the line of a file that only its owner may read; `name` is in
 * credentials/ of skep's home, or an absolute path. The caller overwrites and
 * frees *out. */
int secret_read(char **out, const char *name, const char *home, struct err *e);

#endif
