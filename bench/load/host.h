#ifndef BENCH_LOAD_HOST_H
#define BENCH_LOAD_HOST_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* A supervisor of its own for a benchmark: skepd beside skep-bench, with a home
 * in the directory given. It ends with host_stop, or with the benchmark. */
struct host {
	pid_t pid;
	char home[512];
	char socket[600];
	struct http_client *client;
};

/* ERR_UNSUPPORTED if skepd is not there. */
int host_start(struct host *h, const char *dir, struct err *e);
void host_stop(struct host *h);

/* A request; the answer's body is added to `answer` (may be NULL). */
int host_call(struct host *h, const char *method, const char *path,
	      const char *body, struct buf *answer, struct err *e);

/* Asks for a run of the agent; its id into id. prompt is the script. */
int host_run(struct host *h, const char *agent, const char *script, char id[64],
	     struct err *e);

/* A connection of one's own to the HTTP socket, or -1 with errno; and a whole
 * text sent on it. */
int host_dial(const struct host *h);
int host_say(int fd, const char *text);

int64_t host_rss(const struct host *h);  /* bytes */
double host_cpu_s(const struct host *h); /* spent so far */

#endif
