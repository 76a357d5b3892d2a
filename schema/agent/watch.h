#ifndef SCHEMA_AGENT_WATCH_H
#define SCHEMA_AGENT_WATCH_H

#include "lib/base/err.h"

/*
 * Wakes a reader when another process commits to a database, without polling: a
 * commit in WAL mode writes to FILE-wal, and the kernel reports that (inotify).
 * A wake-up is only a hint; read the rows to see what is new. Add `fd` to your
 * own loop, or use follow_wait.
 *
 * The write happens just before the commit becomes visible (its index is in
 * shared memory, which inotify does not cover), so a reader may be too early
 * and must read again: follow_wait repeats each hint a few times within 200 ms.
 */
struct follow {
	int fd;
	int echo;       /* number of the next repetition */
	char name[256]; /* of the database, without its directory */
};

int follow_open(struct follow *f, const char *path, struct err *e);
void follow_close(struct follow *f);

/* Reads the events of fd; true if one of them concerns our database. */
bool follow_drain(struct follow *f);

/* Returns 1 after a commit or a repetition of its hint, 0 after the time-out,
 * or -1. Negative: no time-out. */
int follow_wait(struct follow *f, int timeout_ms, struct err *e);

#endif
