/* The progress bar, and the clean-up on Ctrl-C. */
#include "bench/harness.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;

static double now_seconds(void)
{
	return (double)clock_mono_ns() / 1e9;
}

static void on_signal(int sig)
{
	if (stopped) /* pressed twice: exit at once */
		_exit(128 + sig);
	stopped = 1;
}

void stop_on_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

bool bench_stopped(const struct bench_run *r)
{
	(void)r;
	return stopped != 0;
}

void progress_clear(struct bench_run *r)
{
	if (r->bar.shown)
		(void)fputs("\r\033[K", stderr);
	r->bar.shown = false;
}

static void draw(const struct bench_run *r, const char *what, double share,
		 double took)
{
	char bar[25], left[TEXT_HUMAN] = "…";
	size_t full = (size_t)lround(share * (double)(sizeof bar - 1));

	memset(bar, '-', sizeof bar - 1);
	memset(bar, '#', full);
	bar[sizeof bar - 1] = '\0';
	if (share > 0.02)
		text_human_millis((int64_t)(took / share * (1 - share) * 1000),
				  left);
	(void)fprintf(stderr, "\r\033[K%s [%s] %3.0f %% %s left  %s",
		      r->bench->name, bar, share * 100, left, what);
	(void)fflush(stderr);
}

void bench_progress(struct bench_run *r, const char *what, double done,
		    double total)
{
	double now, share = total > 0 ? done / total : 0;

	if (!isatty(STDERR_FILENO))
		return;
	now = now_seconds();
	if (done <= 0 || r->bar.since == 0)
		r->bar.since = now;
	if (now - r->bar.last < 0.1 && done > 0)
		return;
	r->bar.last = now;
	r->bar.shown = true;
	draw(r, what,
	     share < 0   ? 0
	     : share > 1 ? 1
			 : share,
	     now - r->bar.since);
}
