#ifndef LIB_DB_WRITE_QUEUE_H
#define LIB_DB_WRITE_QUEUE_H

#include "lib/base/err.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * Writers of one file stand in line. SQLite's own wait for the write lock is
 * polling with sleeps, and a process that commits often keeps others out for
 * seconds. So each writer first takes a flock(2) on the directory of the file,
 * where the kernel wakes waiters in the order in which they came; a process
 * that dies leaves the line by itself. Processes that know nothing of it
 * (LangGraph, the sqlite3 shell) still meet us at SQLite's lock, as ever.
 */
struct turn {
	int fd; /* -1: no line is kept (read-only connections) */
	int wait_ms;
	_Atomic bool waiting;
	_Atomic bool stop;
	pthread_t waiter;
};

#define TURN_WAIT_MS 30000 /* like busy_timeout */

int turn_open(struct turn *t, const char *path, struct err *e);
void turn_close(struct turn *t);

/* ERR_BUSY after wait_ms (TURN_WAIT_MS unless a test changes it), ERR_CANCELED after turn_interrupt. */
int turn_take(struct turn *t, const char *path, struct err *e);
bool turn_try(struct turn *t); /* takes it if nobody has it */
void turn_leave(struct turn *t);

void turn_interrupt(struct turn *t);     /* from any thread */
bool turn_stopped(const struct turn *t); /* interrupted since turn_take */

#endif
