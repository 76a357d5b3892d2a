#ifndef BENCH_LOAD_TEST_DAEMON_H
#define BENCH_LOAD_TEST_DAEMON_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdint.h>
#include <sys/types.h>

/* A separate supervisor for a benchmark: skepd from the directory of
 * skep-bench, with a home in the given directory. It ends with
 * test_daemon_stop, or with the benchmark. */
struct test_daemon {
	pid_t pid;
	char home[512];
	char socket[600];
	struct http_client *client;
};

/* ERR_UNSUPPORTED if there is no skepd. */
int test_daemon_start(struct test_daemon *h, const char *dir, struct err *e);
void test_daemon_stop(struct test_daemon *h);

/* Sends a request; adds the body of the answer to `answer` (may be NULL). */
int test_daemon_call(struct test_daemon *h, const char *method,
		     const char *path, const char *body, struct buf *answer,
		     struct err *e);

/* Submits a run of the agent; writes its id to id. prompt is the script. */
int test_daemon_run(struct test_daemon *h, const char *agent,
		    const char *script, char id[64], struct err *e);

/* Opens a connection to the HTTP socket, or -1 with errno; and sends a complete
 * text on it. */
int test_daemon_dial(const struct test_daemon *h);
int test_daemon_send(int fd, const char *text);

int64_t test_daemon_rss(const struct test_daemon *h);  /* bytes */
double test_daemon_cpu_s(const struct test_daemon *h); /* spent so far */

#endif
