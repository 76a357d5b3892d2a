#ifndef SUPERVISOR_CHANNEL_SECRET_FILE_H
#define SUPERVISOR_CHANNEL_SECRET_FILE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * A secret in a file of credentials/. Users may replace it while skepd runs;
 * secret_file_changed notices that.
 */
struct secret_file {
	const char *path;   /* borrowed */
	struct stat seen;   /* state of the file when it was read */
	bool unchanged;     /* it cannot have changed unnoticed since */
	int64_t checked_at; /* clock */
};

/* Reads the content, NUL-terminated, without trailing newlines. */
int secret_file_read(struct secret_file *f, struct buf *out, struct err *e);

/* May the file have changed since it was read? Checks at most a few times a
 * second. */
bool secret_file_changed(struct secret_file *f);

#endif
