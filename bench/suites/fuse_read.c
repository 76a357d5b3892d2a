/* Reading without the kernel's cache: one large file, and small files by one
 * reader and by two. */
#include "bench/suites/fuse_mount.h"

#include "bench/suites/tree.h"
#include "lib/base/clock.h"
#include "lib/report/stats.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS     15
#define LARGE_MB   100
#define SMALL      2000 /* files */
#define SMALL_SIZE 3000
#define PIECE      (1 << 20)

/* Bytes that LZ4 cannot compress. */
static void fill_incompressible(uint64_t *p, size_t bytes, uint64_t x)
{
	for (size_t i = 0; i < bytes / sizeof *p; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		p[i] = x ^ x >> 29;
	}
}

static int put_file(const char *path, int pieces, size_t size, uint64_t seed)
{
	uint64_t *room = malloc(PIECE);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	bool good = fd >= 0 && room;

	for (int i = 0; good && i < pieces; i++) {
		fill_incompressible(room, PIECE, seed + (uint64_t)i);
		good = write(fd, room, size) == (ssize_t)size;
	}
	good = good && (pieces == 1 || fsync(fd) == 0);
	if (fd >= 0)
		close(fd);
	free(room);
	return good ? 0 : -1;
}

static void small_path(char out[4096], const char *dir, int i)
{
	snprintf(out, 4096, "%s/small%d", dir, i);
}

static int prepare_files(const char *dir, struct err *e)
{
	char path[4096];
	int rc;

	snprintf(path, sizeof path, "%s/large", dir);
	rc = put_file(path, LARGE_MB, PIECE, 1);
	for (int i = 0; rc == 0 && i < SMALL; i++) {
		small_path(path, dir, i);
		rc = put_file(path, 1, SMALL_SIZE, (uint64_t)i);
	}
	return rc ? err_errno_set(e, "%s", path) : 0;
}

/* Reads a file to its end, or drops its pages from the cache. */
static void visit(const char *path, bool forget)
{
	static char room[PIECE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		abort();
	if (forget)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	else
		while (read(fd, room, sizeof room) > 0)
			;
	close(fd);
}

static void visit_small(const char *dir, int first, int end, bool forget)
{
	char path[4096];

	for (int i = first; i < end; i++) {
		small_path(path, dir, i);
		visit(path, forget);
	}
}

static double read_large(const char *dir)
{
	char path[4096];
	int64_t since;

	snprintf(path, sizeof path, "%s/large", dir);
	visit(path, true);
	since = clock_mono_ns();
	visit(path, false);
	return (double)(clock_mono_ns() - since) / 1e6;
}

static double read_small(const char *dir, int readers)
{
	pid_t pids[2];
	int64_t since;

	sync(); /* only clean pages can be dropped */
	visit_small(dir, 0, SMALL, true);
	since = clock_mono_ns();
	for (int i = 0; i < readers; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			visit_small(dir, SMALL / readers * i,
				    SMALL / readers * (i + 1), false);
			_exit(0);
		}
	}
	for (int i = 0; i < readers; i++)
		(void)waitpid(pids[i], NULL, 0);
	return (double)(clock_mono_ns() - since) / 1e6;
}

/* ms, ours and bindfs */
struct read_times {
	struct samples large[2], one[2], two[2];
};

static void measure_reads(struct bench_run *r, const char *const dirs[2],
			  int sides, struct read_times *t)
{
	for (int round = 0; round < ROUNDS && !bench_stopped(r); round++)
		for (int k = 0; k < sides; k++) {
			int i = (k + round) % sides; /* the order turns */

			bench_progress(r, "reading without a cache",
				       round * sides + k, ROUNDS * sides);
			samples_add(&t->large[i], read_large(dirs[i]));
			samples_add(&t->one[i], read_small(dirs[i], 1));
			samples_add(&t->two[i], read_small(dirs[i], 2));
		}
}

static void state(struct bench_run *r, const char *metric, double times,
		  bool less, double target)
{
	bench_metric(r, &(struct bench_metric){.metric = metric,
					       .unit = "times",
					       .value = times,
					       .less_is_better = less,
					       .against = "target",
					       .against_value = target});
}

static void row(struct bench_run *r, const char *what,
		const struct samples of[2], int sides)
{
	bench_table(r, "Reading without a cache, ms", "%s|%.1f|%.1f", what,
		    samples_median(&of[0]),
		    sides > 1 ? samples_median(&of[1]) : 0.0);
}

static void print_summary(struct bench_run *r, const struct read_times *t,
			  int sides)
{
	bench_table(r, "Reading without a cache, ms", "what|ours|bindfs");
	row(r, "one file of 100 MiB", t->large, sides);
	row(r, "2,000 small files", t->one, sides);
	row(r, "2,000 small files, two readers", t->two, sides);
	state(r, "fuse_two_readers",
	      samples_median(&t->one[0]) / samples_median(&t->two[0]), false,
	      1.6);
	if (sides < 2)
		return;
	state(r, "fuse_large_of_bindfs",
	      samples_median(&t->large[0]) / samples_median(&t->large[1]), true,
	      1.0);
	state(r, "fuse_small_of_bindfs",
	      samples_median(&t->one[0]) / samples_median(&t->one[1]), true,
	      1.0);
	state(r, "fuse_small_two_of_bindfs",
	      samples_median(&t->two[0]) / samples_median(&t->two[1]), true,
	      1.0);
}

int fuse_read(struct bench_run *r, const char *const dirs[2], int sides,
	      struct err *e)
{
	struct read_times t = {0};

	for (int i = 0; i < sides; i++)
		if (prepare_files(dirs[i], e))
			return -1;
	measure_reads(r, dirs, sides, &t);
	if (!bench_stopped(r))
		print_summary(r, &t, sides);
	return 0;
}
