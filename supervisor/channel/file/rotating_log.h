#ifndef SUPERVISOR_CHANNEL_FILE_ROTATING_LOG_H
#define SUPERVISOR_CHANNEL_FILE_ROTATING_LOG_H

#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A file of lines that is rotated: PATH becomes PATH.1, PATH.1 becomes PATH.2,
 * and so on. Writers lock it (flock), so several skepd can share a file, also
 * with programs that append whole lines. Calls block: use a thread.
 */
struct rotating_log {
	const char *path;
	const char *start;       /* prefix of all lines that skepd writes */
	int64_t rotate, keep;    /* size in bytes; number of rotated files */
	int64_t lock_timeout_ms; /* how long to wait for the lock */
};

/*
 * Appends whole lines and syncs them. On -1 the file is unchanged; with
 * *unknown, it may contain a part of them.
 *
 * An incomplete last line of skepd, left by a crash, is removed first: it was
 * never acknowledged. An incomplete line of another program is completed with a
 * newline.
 */
int rotating_log_append(const struct rotating_log *f, struct blob lines,
			bool *unknown, struct err *e);

/* A line to search for. */
struct wanted_line {
	const char *start; /* unique; begins with the common prefix */
	bool found;
	void *owner; /* for the caller */
};

/* Searches the file and the rotated ones for complete lines, in one pass, and
 * sets `found`. Sorts wanted. On -1 it is unknown whether those without `found`
 * exist. */
int rotating_log_find(const struct rotating_log *f, struct wanted_line *wanted,
		      size_t n, struct err *e);

#endif
