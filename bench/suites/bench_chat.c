/* Many chat runs at once against a server that only streams: the remaining time
 * and memory are those of skep. */
#include "bench/load/mock_llm.h"
#include "bench/load/run_load.h"
#include "lib/base/clock.h"
#include "lib/json/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define WORDS        100 /* long enough that all stream at once */
#define QUICK        5
#define PAUSE_MS     100
#define WAIT_SECONDS 600.0

struct seen {
	int words;
	int64_t pss, at_once;
	double skepd_mb;
	int64_t p50, p99; /* ms, without the time of the stream */
};

static int make_agents(struct run_load *f, int port, struct err *e)
{
	struct buf body = BUF_MAX(1024);
	char endpoint[64];
	int rc = 0;

	snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d/v1", port);
	json_begin_object(&body);
	json_put_text(&body, "driver", "chat");
	json_put_text(&body, "model", "none");
	json_put_object(&body, "config");
	json_put_text(&body, "endpoint", endpoint);
	json_end_object(&body);
	json_end_object(&body);
	for (int i = 0; i < f->agents && rc == 0; i++) {
		char path[64];

		snprintf(path, sizeof path, "/v1/agents/a%d", i);
		rc = test_daemon_call(&f->daemon, "PUT", path, body.p, NULL, e);
	}
	buf_fini(&body);
	return rc;
}

/* Until all stream, or as many as will before the first has ended. */
static void await_all(struct bench_run *r, const struct mock_llm *t, int n,
		      struct seen *s)
{
	int64_t end = clock_mono_ns() + (int64_t)(WAIT_SECONDS * 1e9);
	struct timespec pause = {0, 5000000};
	int64_t now;

	do {
		(void)nanosleep(&pause, NULL);
		now = mock_llm_streams(t);
		if (now < s->at_once)
			break;
		s->at_once = now;
	} while (now < n && clock_mono_ns() < end && !bench_stopped(r));
}

/* The time of a run from the request to its end, at a percentile. */
static int whole_time(struct run_load *f, int n, double share, int64_t *ms,
		      struct err *e)
{
	if (run_load_number(f, ms, e,
			    "SELECT ended_at - created_at FROM run ORDER BY "
			    "ended_at - created_at LIMIT 1 OFFSET %d",
			    (int)(share * (n - 1))))
		return -1;
	return 0;
}

static int measure_chat(struct bench_run *r, struct run_load *f,
			const struct mock_llm *t, int n, struct seen *s,
			struct err *e)
{
	int64_t done = 0;
	int rc;

	for (int i = 0; i < n && !bench_stopped(r); i++)
		if (run_load_submit(f, i, "talk", NULL, e))
			return -1;
	await_all(r, t, n, s);
	s->pss = run_load_worker_pss(f, e);
	s->skepd_mb = (double)test_daemon_rss(&f->daemon) / 1e6;
	rc = s->pss < 0
		     ? -1
		     : run_load_until(f, r,
				      "SELECT count(*) FROM run WHERE state = "
				      "'succeeded'",
				      n, WAIT_SECONDS, &done, e);
	if (rc == 0)
		rc = err_set(e, ERR_TIMEOUT, "%" PRId64 " of %d runs succeeded",
			     done, n);
	if (rc < 0 || whole_time(f, n, 0.5, &s->p50, e) ||
	    whole_time(f, n, 0.99, &s->p99, e))
		return -1;
	s->p50 -= (int64_t)s->words * PAUSE_MS;
	s->p99 -= (int64_t)s->words * PAUSE_MS;
	return 0;
}

static void state(struct bench_run *r, const struct seen *s)
{
	bench_print(r,
		    "%" PRId64
		    " streams at once, of %d words in %d ms. The times "
		    "are those of a run from its\nrequest to its end without "
		    "the stream: start, sandbox, libraries, commits.",
		    s->at_once, s->words, s->words * PAUSE_MS);
	bench_metric(r, &(struct bench_metric){.metric = "chat_streams",
					       .unit = "",
					       .value = (double)s->at_once});
	bench_metric(r, &(struct bench_metric){.metric = "chat_own_ms_p50",
					       .unit = "ms",
					       .value = (double)s->p50,
					       .less_is_better = true});
	bench_metric(r, &(struct bench_metric){.metric = "chat_own_ms_p99",
					       .unit = "ms",
					       .value = (double)s->p99,
					       .less_is_better = true});
	bench_metric(r, &(struct bench_metric){.metric = "chat_worker_pss_kb",
					       .unit = "KB",
					       .value = (double)s->pss / 1024,
					       .less_is_better = true});
	bench_metric(r, &(struct bench_metric){.metric = "chat_supervisor_mb",
					       .unit = "MB",
					       .value = s->skepd_mb,
					       .less_is_better = true});
}

static int run_chat(struct bench_run *r, struct err *e)
{
	int n = (int)bench_option_i64(r, "runs", bench_is_quick(r) ? 4 : 100);
	const char *dir = bench_dir(r, "chat");
	struct seen s = {.words = bench_is_quick(r) ? QUICK : WORDS};
	struct mock_llm *t;
	struct run_load f;
	int rc;

	if (mock_llm_open(&t, s.words, PAUSE_MS, e))
		return -1;
	rc = run_load_start(&f, dir, n, n + 16, e);
	if (rc == 0) {
		rc = make_agents(&f, mock_llm_port(t), e);
		if (rc == 0)
			rc = measure_chat(r, &f, t, n, &s, e);
		run_load_stop(&f);
	}
	mock_llm_close(t);
	bench_dir_remove(r, dir);
	if (rc == 0)
		state(r, &s);
	return rc;
}

const struct bench bench_chat = {
	.name = "chat",
	.help = "chat runs at once, against a server that only streams",
	.about = "Starts skepd, --runs agents and a run of each, all talking "
		 "with a server of our own on loopback\nthat streams words. "
		 "Reports the memory of a worker while they do, and what a run "
		 "takes beside the\nstream.",
	.options = (const struct bench_option[]){{"runs", "N",
						  "how many at once; 100"},
						 {0}},
	.seconds = 1,
	.rounds = 1,
	.run = run_chat,
};
