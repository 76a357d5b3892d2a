#ifndef WORKER_RUN_RUN_SERVER_H
#define WORKER_RUN_RUN_SERVER_H

#include "lib/base/err.h"

/*
 * Serves the processes of the run on a socket that they see in their sandbox
 * (ipc/run_socket.h): passes their requests to the supervisor, and the results
 * back. Only the main thread uses it. Path and token are in the environment of
 * the worker, from where its commands get them.
 */
struct run;
struct run_server;

/* Call it before the sandbox is made. Keeps the server of an earlier run of the
 * process. */
int run_server_open(struct run *r, struct err *e);
void run_server_close(struct run *r); /* accepts that there is none */

int run_server_fd(const struct run *r); /* readable if there is work; or -1 */
void run_server_poll(struct run *r);

#endif
