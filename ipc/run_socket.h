#ifndef IPC_RUN_SOCKET_H
#define IPC_RUN_SOCKET_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

/*
 * The socket on which a worker serves the processes of its run, which see it in
 * their sandbox: requests about child runs and messages (ipc/message.def,
 * `request`). It is beside the agent file and named after the worker's PID. One
 * line of JSON in each direction, in turns:
 *
 *   {"token":…,"verb":"start","key":…,"args":{…}}
 *   {"result":{…}}   {"code":"DENIED","error":…}
 *
 * The processes get the path and the token in their environment. The token is
 * valid as long as the worker lives; it allows only what concerns this run.
 */
#define RUN_SOCKET      "run-%d.sock"
#define RUN_SOCKET_SIZE 32
#define RUN_SOCKET_ENV  "SKEP_RUN_SOCKET"
#define RUN_TOKEN_ENV   "SKEP_RUN_TOKEN"
#define RUN_REQUEST_MAX (3u << 20) /* bytes of a line */
#define RUN_RESULT_MAX  (17u << 20)

/* Connects to a socket, also if its path is too long for an address; -1 with
 * errno. Listens on one in the directory `dir`, which is a descriptor. */
int run_socket_connect(const char *path);
int run_socket_listen(int dir, const char *name, int backlog);

/* A request of a process of the run: connects to the socket that its environment
 * names, and waits for the result, which is an object in *out. -1: the error of
 * the supervisor, or ERR_UNAVAILABLE outside of a run that may start child
 * runs. */
struct run_socket_request {
	const char *verb, *key, *args; /* args: an object */
};
int run_socket_call(const struct run_socket_request *q, struct buf *out,
		    struct err *e);

#endif
