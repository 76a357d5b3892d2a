#include "bench/suites/turnaround_baseline.h"

#include "lib/base/clock.h"
#include "lib/report/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TABLE    "floor: what every run needs, measured alone"
#define SAMPLES  40
#define REST_MS  5
#define COMMITS  3    /* consecutive waits of a run */
#define FRAME    4120 /* a page of 4096 bytes and its header in the log */
#define LOG_SIZE (64 * FRAME)

typedef int sample(int fd, int number, struct err *e);

static int sync_frames(int fd, int number, struct err *e)
{
	static const char frames[2 * FRAME];
	off_t at = (off_t)(number * 2 * FRAME) % LOG_SIZE;

	if (pwrite(fd, frames, sizeof frames, at) != (ssize_t)sizeof frames ||
	    fdatasync(fd))
		return err_errno_set(e, "fdatasync");
	return 0;
}

static int run_true(int fd, int number, struct err *e)
{
	char path[] = "/bin/true", *argv[] = {path, NULL};
	int status = -1;
	pid_t pid;

	(void)fd;
	(void)number;
	errno = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	if (errno)
		return err_errno_set(e, "%s", path);
	if (waitpid(pid, &status, 0) != pid || status)
		return err_set(e, ERR_INTERNAL, "%s failed", path);
	return 0;
}

static int measure_median(sample *one, int fd, double *ms, struct err *e)
{
	struct timespec pause = {0, REST_MS * 1000000};
	struct histogram *h = calloc(1, sizeof *h);
	int rc = 0;

	if (!h)
		abort();
	for (int i = 0; rc == 0 && i < SAMPLES; i++) {
		int64_t began = clock_mono_ns();

		rc = one(fd, i, e);
		histogram_add(h, clock_mono_ns() - began);
		nanosleep(&pause, NULL);
	}
	*ms = (double)histogram_at(h, 0.5) / 1e6;
	free(h);
	return rc;
}

static void print_baselines(struct bench_run *r, double sync, double process)
{
	bench_table(r, TABLE, "ms, p50|times|ms in all|what");
	bench_table(r, TABLE, "%.2f|%d|%.2f|fdatasync of two pages of a log",
		    sync, COMMITS, COMMITS * sync);
	bench_table(r, TABLE, "%.2f|1|%.2f|/bin/true without a sandbox",
		    process, process);
	bench_table(r, TABLE, "||%.2f|together", COMMITS * sync + process);
}

int turnaround_baseline(struct bench_run *r, const char *dir, struct err *e)
{
	double sync = 0, process = 0;
	char path[1024];
	int fd, rc;

	snprintf(path, sizeof path, "%s/floor", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno_set(e, "%s", path);
	rc = posix_fallocate(fd, 0, LOG_SIZE);
	if (rc) {
		errno = rc;
		rc = err_errno_set(e, "%s", path);
	}
	if (rc == 0)
		rc = measure_median(sync_frames, fd, &sync, e);
	if (rc == 0)
		rc = measure_median(run_true, fd, &process, e);
	close(fd);
	unlink(path);
	if (rc == 0)
		print_baselines(r, sync, process);
	return rc;
}
