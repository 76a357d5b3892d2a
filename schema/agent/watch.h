#ifndef SCHEMA_AGENT_WATCH_H
#define SCHEMA_AGENT_WATCH_H

#include "lib/base/err.h"

/*
 * Waking up when another process commits to a database, without polling: a
 * commit in WAL mode writes to FILE-wal, and the kernel tells us (inotify). A
 * wake-up is a hint; read the rows to see what is new. Put `fd` in a loop of
 * your own, or use follow_wait.
 *
 * The write comes a moment before the commit can be seen (its index is shared
 * memory, of which the kernel says nothing), so a reader may come too early and
 * must look again: follow_wait gives each hint a few echoes, up to 200 ms later.
 */
struct follow {
	int fd;
	int echo;       /* which one comes next */
	char name[256]; /* of the database, without its directory */
};

int follow_open(struct follow *f, const char *path, struct err *e);
void follow_close(struct follow *f);

/* Reads what fd has; true if some of it was about our database. */
bool follow_drain(struct follow *f);

/* 1 after a commit, or an echo of one; 0 when the time is over, -1. Negative:
 * without limit. */
int follow_wait(struct follow *f, int timeout_ms, struct err *e);

#endif
