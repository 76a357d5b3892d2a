#ifndef LIB_DB_WRITE_QUEUE_H
#define LIB_DB_WRITE_QUEUE_H

#include "lib/base/err.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * Writers of one file wait in a queue. SQLite's own wait for the write lock
 * polls and sleeps, and a process that commits often keeps others out for
 * seconds. So each writer first takes a flock(2) on the directory of the file,
 * where the kernel wakes waiters first in, first out; the kernel releases the
 * lock of a process that dies. Processes without the queue (LangGraph, the
 * sqlite3 shell) compete for SQLite's own lock as usual.
 *
 * A process that has just left would take a free lock again before the first
 * waiter has woken up, on a busy machine hundreds of times. So waiters are
 * visible: each has a read lock on one byte of the directory, whose number is
 * the time at which it came. A writer that arrives meanwhile waits for the
 * oldest, for a limited time: it may be stopped.
 */
struct write_queue {
	int fd; /* -1: no queue (read-only connections) */
	int wait_ms;
	_Atomic bool waiting;
	_Atomic bool stop;
	pthread_t waiter;
	int64_t place;   /* the byte of this waiter */
	int64_t stalled; /* that of one which did not take its turn; 0: none */
};

#define WRITE_QUEUE_WAIT_MS 30000 /* like busy_timeout */

int write_queue_open(struct write_queue *t, const char *path, struct err *e);
void write_queue_close(struct write_queue *t);

/* ERR_BUSY after wait_ms (WRITE_QUEUE_WAIT_MS unless a test changes it),
 * ERR_CANCELED after write_queue_interrupt. */
int write_queue_enter(struct write_queue *t, const char *path, struct err *e);
bool write_queue_try(struct write_queue *t); /* enters if it is free */
void write_queue_leave(struct write_queue *t);

void write_queue_interrupt(struct write_queue *t); /* from any thread */
bool write_queue_stopped(
	const struct write_queue *t); /* interrupted since write_queue_enter */

#endif
