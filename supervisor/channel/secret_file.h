#ifndef SUPERVISOR_CHANNEL_SECRET_FILE_H
#define SUPERVISOR_CHANNEL_SECRET_FILE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * A secret: a file in credentials/. People change it while skepd runs, to
 * replace one that got known; whoever uses it asks now and then whether it did.
 */
struct secret_file {
	const char *path;   /* borrowed */
	struct stat seen;   /* as it was read */
	bool unchanged;     /* it did not change while it was read */
	int64_t checked_at; /* clock */
};

/* The content, NUL-ended, without newlines at its end. */
int secret_file_read(struct secret_file *f, struct buf *out, struct err *e);

/* May it be another one than was read? Looks a few times a second at most. */
bool secret_file_changed(struct secret_file *f);

#endif
