#ifndef SUPERVISOR_CHANNEL_FILE_ROTATING_LOG_H
#define SUPERVISOR_CHANNEL_FILE_ROTATING_LOG_H

#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * A file of lines that grows and is rotated: PATH becomes PATH.1, that PATH.2
 * and so on. Whoever writes holds a lock (flock) on it, so several skepd may
 * share one; programs that only append whole lines may, too. Calls block: they
 * are made in a thread.
 */
struct rotating_log {
	const char *path;
	const char *start;       /* of each of our lines */
	int64_t rotate, keep;    /* bytes; former files */
	int64_t lock_timeout_ms; /* with another who holds the lock */
};

/*
 * Appends whole lines; they are on the disk when it returns 0. -1: the file is as
 * it was, or, with *unknown, it cannot be said how much of them it has.
 *
 * A line of ours that a crash cut off is removed first: whoever wanted it written
 * was never told that it was. One of somebody else's is ended.
 */
int rotating_log_append(const struct rotating_log *f, struct blob lines,
			bool *unknown, struct err *e);

/* A line to look for. */
struct wanted_line {
	const char *start; /* begins as all of our lines do; no other's start */
	bool found;
	void *owner; /* the caller's */
};

/* Which of them does it, or a former file, have as a whole line? One pass for
 * all, which puts them in order. -1: of those not found that cannot be said. */
int rotating_log_find(const struct rotating_log *f, struct wanted_line *wanted,
		      size_t n, struct err *e);

#endif
