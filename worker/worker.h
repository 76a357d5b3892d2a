#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

/*
 * One attempt of one run, from its start message to its end: hello, open the
 * agent's file, run the driver, commit the end, say so; and those that it is
 * given after that (worker/park.h). Returns the exit status of the process: 0
 * when the end of the last attempt is committed, whatever it was; otherwise one
 * of sysexits.h. To be called in a process of its own, once; one
 * that was forked from a spawner need not exec.
 *
 * A worker may be made before it is certain that it shall work: it gets ready
 * and waits at a gate, a pipe, until a byte comes. If the pipe's other end goes
 * without one, so does the worker, and has done nothing. -1: there is no gate.
 */
int worker_main(int start_fd, int gate_fd);

#endif
