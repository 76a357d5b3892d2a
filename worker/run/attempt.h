#ifndef WORKER_RUN_ATTEMPT_H
#define WORKER_RUN_ATTEMPT_H

/*
 * One attempt of one run, from its start message to its end: hello, open the
 * agent file, run the driver, commit the end, report it; and later runs in the
 * same process (worker/run/idle.h). Returns the exit status of the process: 0
 * if the end of the last attempt is committed, whatever it was; otherwise one
 * of sysexits.h. Call it once, in its own process; a fork of the spawner need
 * not exec.
 *
 * A worker may be started before its run is committed: it prepares and waits at
 * the start barrier, a pipe, until a byte arrives. If the pipe is closed
 * without one, the worker exits and has done nothing. -1: there is no barrier.
 *
 * A preforked worker is started before there is a run. Then the start message
 * is a pipe, and the worker prepares as far as it can without one; if the pipe
 * is closed without a message, it exits. When the message arrives, `named` is
 * called with the id of the run, if it is not NULL.
 */
typedef void worker_named(const char *run);

int worker_main(int start_fd, int barrier_fd, worker_named *named);

#endif
