/* Plain requests: rate and latency, alone and beside followers, and the limit
 * of the socket alone. */
#include "bench/load/sse_load.h"
#include "bench/load/test_daemon.h"
#include "lib/base/clock.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char request[] = "GET /v1/runs?limit=10 HTTP/1.1\r\n"
			      "Host: x\r\n\r\n";

#define RUNS       10     /* on the page */
#define WAIT_MS    300000 /* ms for an answer */
#define ANSWER_MAX 65536

/* Sends the request and reads to the end of the page: ns, or -1. */
static int64_t request_page(int fd, const char *end, struct err *e)
{
	static char got[ANSWER_MAX];
	int64_t began = clock_mono_ns();
	size_t n = 0;

	if (test_daemon_send(fd, request))
		return err_errno_set(e, "asking");
	while (n == 0 || !memmem(got, n, end, strlen(end))) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t more;

		if (poll(&p, 1, WAIT_MS) <= 0)
			return err_set(e, ERR_TIMEOUT, "no answer came");
		more = recv(fd, got + n, sizeof got - n, 0);
		if (more <= 0)
			return err_set(e, ERR_IO, "the connection broke");
		n += (size_t)more;
	}
	return clock_mono_ns() - began;
}

static int ask_on(struct bench_run *r, int fd, const char *end,
		  struct bench_sample *out, struct err *e)
{
	int64_t began = clock_mono_ns();
	int64_t until = began + (int64_t)(bench_seconds(r) * 1e9);

	while (clock_mono_ns() < until && !bench_stopped(r)) {
		int64_t took = request_page(fd, end, e);

		if (took < 0)
			return -1;
		histogram_add(&out->wait, took);
		out->operations++;
	}
	out->value = (double)out->operations * 1e9 /
		     (double)(clock_mono_ns() - began);
	return 0;
}

/* --- skepd ------------------------------------------------------------ */

static int prepare_daemon(struct test_daemon *h, struct err *e)
{
	char id[64];

	if (test_daemon_call(h, "PUT", "/v1/agents/a",
			     "{\"driver\":\"script\"}", NULL, e))
		return -1;
	for (int i = 0; i < RUNS; i++)
		if (test_daemon_run(h, "a", "[]", id, e))
			return -1;
	return 0;
}

static int alone(struct bench_run *r, void *arg, struct bench_sample *out,
		 struct err *e)
{
	const char *dir = bench_dir(r, "http");
	struct test_daemon h;
	int fd = -1, rc = test_daemon_start(&h, dir, e);

	(void)arg;
	if (rc == 0)
		rc = prepare_daemon(&h, e);
	if (rc == 0 && (fd = test_daemon_dial(&h)) < 0)
		rc = err_errno_set(e, "connecting");
	if (rc == 0)
		rc = ask_on(r, fd, "\"next\":", out, e);
	if (fd >= 0)
		close(fd);
	test_daemon_stop(&h);
	bench_dir_remove(r, dir);
	return rc;
}

/* --- the limit: a server that answers without parsing ------------------- */

static void *echo(void *arg)
{
	static char page[4096];
	int fd = *(int *)arg;
	char got[512];

	memset(page, 'x', sizeof page - 1);
	memcpy(page + sizeof page - 4, "end", 3);
	while (recv(fd, got, sizeof got, 0) > 0)
		if (send(fd, page, sizeof page, MSG_NOSIGNAL) < 0)
			break;
	return NULL;
}

static int bare(struct bench_run *r, void *arg, struct bench_sample *out,
		struct err *e)
{
	int pair[2], rc;
	pthread_t thread;

	(void)arg;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_errno_set(e, "socketpair");
	if (pthread_create(&thread, NULL, echo, &pair[1]))
		return err_set(e, ERR_IO, "no thread");
	rc = ask_on(r, pair[0], "end", out, e);
	shutdown(pair[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	close(pair[0]);
	close(pair[1]);
	return rc;
}

/* ----------------------------------------------------------------------- */

static void state_metrics(struct bench_run *r, const struct bench_result *res)
{
	bench_metric(r, &(struct bench_metric){.metric = "http_requests_per_s",
					       .unit = "1/s",
					       .samples = &res[0].values,
					       .against = "bare socket",
					       .against_value = samples_median(
						       &res[2].values)});
	bench_metric(r, &(struct bench_metric){.metric = "http_request_p99_us",
					       .unit = "µs",
					       .samples = &res[0].p99_us,
					       .less_is_better = true,
					       .against = "bare socket",
					       .against_value = samples_median(
						       &res[2].p99_us)});
	bench_metric(r,
		     &(struct bench_metric){
			     .metric = "http_request_p99_us_beside_followers",
			     .unit = "µs",
			     .samples = &res[1].more[SSE_LOAD_REQUEST_P99_US],
			     .less_is_better = true,
			     .against = "target",
			     .against_value = 20000});
}

static int run_http(struct bench_run *r, struct err *e)
{
	int n = (int)bench_option_i64(r, "followers",
				      bench_is_quick(r) ? 20 : 1000);
	struct sse_load_options load = {n, 0};
	struct bench_case cases[] = {
		{"alone", alone, NULL},
		{"beside followers", sse_load_measure, &load},
		{"bare socket", bare, NULL}};
	static struct bench_result res[3];

	if (sse_load_raise_files(n, e) || bench_interleave(r, cases, 3, res, e))
		return -1;
	if (res[0].values.n && res[1].values.n && res[2].values.n)
		state_metrics(r, res);
	return 0;
}

const struct bench bench_http = {
	.name = "http",
	.help = "plain requests, alone and beside followers",
	.about = "Asks skepd for GET /v1/runs with 10 rows over one connection "
		 "of the unix socket, one request\nafter the other. Then every "
		 "20 ms while --followers connections follow a run with 10 "
		 "events a\nsecond. The limit beside it is a thread that "
		 "answers each request with 4 KiB unread.",
	.options = (const struct bench_option[]){{"followers", "N",
						  "connections; 1000"},
						 {0}},
	.seconds = 3,
	.rounds = 3,
	.run = run_http,
};
