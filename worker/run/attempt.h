#ifndef WORKER_RUN_ATTEMPT_H
#define WORKER_RUN_ATTEMPT_H

/*
 * One attempt of one run, from its start message to its end: hello, open the
 * agent's file, run the driver, commit the end, say so; and those that it is
 * given after that (worker/run/idle.h). Returns the exit status of the process: 0
 * when the end of the last attempt is committed, whatever it was; otherwise one
 * of sysexits.h. To be called in a process of its own, once; one
 * that was forked from a spawner need not exec.
 *
 * A worker may be made before it is certain that it shall work: it gets ready
 * and waits at the start barrier, a pipe, until a byte comes. If the pipe's other end goes
 * without one, so does the worker, and has done nothing. -1: there is no barrier.
 *
 * It may even be made before there is a run: a spare. Then the start message is
 * a pipe, and the worker gets as ready as it can without one; if that pipe's
 * other end goes without a message, so does the worker. Once the message is
 * there, `named` is called with the run's id, if it is not NULL.
 */
typedef void worker_named(const char *run);

int worker_main(int start_fd, int barrier_fd, worker_named *named);

#endif
