#include "bench/suites/fuse_mount.h"

#include "bench/suites/tree.h"
#include "lib/base/clock.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE    ((size_t)1 << 20)
#define WORDS    (PIECE / sizeof(uint64_t))
#define LIMIT_MB 64 /* of the server's memory */

struct big {
	struct bench_run *r;
	int fd;
	int64_t mb;
	uint64_t *want, *got; /* PIECE bytes each */
};

/* The peak memory of the process, in MB; 0 if it has exited. */
static double peak_mb(pid_t pid)
{
	char path[64], line[256];
	long kb = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmHWM:", 6))
			kb = strtol(line + 6, NULL, 10);
	if (f)
		(void)fclose(f);
	return (double)kb / 1024;
}

/* Every piece has different bytes; LZ4 halves them. */
static void make_piece(uint64_t *p, int64_t number)
{
	uint64_t x = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (size_t i = 0; i < WORDS; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		p[i] = i % 8 < 4 ? x : 0;
	}
}

static int write_big(struct big *b, struct err *e)
{
	for (int64_t i = 0; i < b->mb && !bench_stopped(b->r); i++) {
		bench_progress(b->r, "writing a big file", (double)i,
			       (double)b->mb);
		make_piece(b->want, i);
		if (write(b->fd, b->want, PIECE) != (ssize_t)PIECE)
			return err_errno_set(e, "writing the big file");
	}
	return fsync(b->fd) ? err_errno_set(e, "fsync of the big file") : 0;
}

/* Not from the page cache, which would send no request to the server. */
static int read_big(struct big *b, struct err *e)
{
	if (posix_fadvise(b->fd, 0, 0, POSIX_FADV_DONTNEED) ||
	    lseek(b->fd, 0, SEEK_SET))
		return err_errno_set(e, "the big file");
	for (int64_t i = 0; i < b->mb && !bench_stopped(b->r); i++) {
		bench_progress(b->r, "reading a big file", (double)i,
			       (double)b->mb);
		make_piece(b->want, i);
		if (read(b->fd, b->got, PIECE) != (ssize_t)PIECE)
			return err_errno_set(e, "reading the big file");
		if (memcmp(b->want, b->got, PIECE) != 0)
			return err_set(e, ERR_CORRUPT,
				       "the big file gave something else than "
				       "was put");
	}
	return 0;
}

static double mb_per_s(const struct big *b, int64_t since)
{
	return (double)b->mb / ((double)(clock_mono_ns() - since) / 1e9);
}

static int measure_big(struct big *b, pid_t server, struct err *e)
{
	int64_t begin = clock_mono_ns();
	double writing, written, reading;

	if (write_big(b, e))
		return -1;
	writing = mb_per_s(b, begin);
	written = peak_mb(server);
	begin = clock_mono_ns();
	if (read_big(b, e))
		return -1;
	reading = mb_per_s(b, begin);
	if (bench_stopped(b->r))
		return 0;
	tree_limit(b->r, "fuse_big_peak_rss_mb", "MB", peak_mb(server),
		   LIMIT_MB);
	bench_metric(b->r, &(struct bench_metric){.metric = "fuse_big_write",
						  .unit = "MB/s",
						  .value = writing});
	bench_metric(b->r, &(struct bench_metric){.metric = "fuse_big_read",
						  .unit = "MB/s",
						  .value = reading});
	bench_print(
		b->r,
		"While %lld MiB were written and read through the mount, its "
		"process had %.1f MB at the most (%.1f after writing).",
		(long long)b->mb, peak_mb(server), written);
	return 0;
}

int fuse_big_file(struct bench_run *r, int64_t mb, struct err *e)
{
	const char *home = bench_dir(r, "big"), *dir = bench_dir(r, "bigmount");
	struct big b = {.r = r, .mb = mb};
	pid_t server = fuse_mount_ours(home, dir, e);
	char path[4096];
	int rc = -1;

	if (server < 0)
		return -1;
	b.want = malloc(PIECE);
	b.got = malloc(PIECE);
	if (!b.want || !b.got)
		abort();
	snprintf(path, sizeof path, "%s/big", dir);
	b.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (b.fd < 0)
		err_errno_set(e, "%s", path);
	else
		rc = measure_big(&b, server, e);
	if (b.fd >= 0)
		close(b.fd);
	fuse_mount_end(server, dir);
	bench_dir_remove(r, home);
	free(b.want);
	free(b.got);
	return rc;
}
