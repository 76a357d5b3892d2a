/*
 * A mount that several threads serve: clients that work at once, each beside a
 * directory on the disk that has to give the same answers. Reads are direct, so
 * that every one is a request, right after writes that no commit has covered
 * yet. VFS_THREADS_SEED and VFS_THREADS_STEPS replay or prolong.
 */
#include "tests/support/vfs_served.h"
#include "tests/support/vfs_test.h"

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/db/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define CLIENTS 3
#define FILES   5
#define PIECE   (192 * 1024)
#define REGION  (3 * 65536) /* of the file that all clients share */

struct client {
	char mount[1024], disk[1024]; /* its directory in both */
	int shared[2];                /* files, in both */
	int number, steps;
	unsigned seed;
	char why[256]; /* the first difference */
};

/* What a step gave. */
struct result {
	long rc;
	int error;
	char *bytes; /* PIECE */
};

struct step {
	unsigned op, a, b, value;
	off_t off;
	size_t n;
};

enum { WRITE, READ, CUT, REMOVE, RENAME, SYNC, STAT, LINK, OPS };

static long from_env(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static void name_of(char out[1100], const char *dir, unsigned file)
{
	snprintf(out, 1100, "%s/f%u", dir, file % FILES);
}

static long with_file(const struct step *s, const char *path, int flags,
		      struct result *r)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);
	struct stat st;
	long rc = -1;

	if (fd < 0)
		return -1;
	if (s->op == WRITE)
		rc = pwrite(fd, r->bytes, s->n, s->off);
	else if (s->op == READ)
		rc = pread(fd, r->bytes, s->n, s->off);
	else if (s->op == SYNC)
		rc = fsync(fd);
	else if (s->op == STAT && fstat(fd, &st) == 0)
		rc = (long)st.st_size * 16 + (long)st.st_nlink;
	close(fd);
	return rc;
}

static void take_step(const struct step *s, const char *dir, int direct,
		      struct result *r)
{
	char a[1100], b[1100];

	name_of(a, dir, s->a);
	name_of(b, dir, s->b);
	memset(r->bytes, s->op == WRITE ? (int)s->value : 0, PIECE);
	errno = 0;
	if (s->op == WRITE)
		r->rc = with_file(s, a, O_RDWR | O_CREAT, r);
	else if (s->op == READ)
		r->rc = with_file(s, a, O_RDONLY | direct, r);
	else if (s->op == CUT)
		r->rc = truncate(a, s->off);
	else if (s->op == REMOVE)
		r->rc = unlink(a);
	else if (s->op == RENAME)
		r->rc = rename(a, b);
	else if (s->op == LINK)
		r->rc = link(a, b);
	else
		r->rc = with_file(s, a, O_RDWR, r);
	r->error = r->rc < 0 ? errno : 0;
}

static struct step make_step(unsigned *seed)
{
	static const unsigned op[] = {WRITE,  WRITE, WRITE, READ, READ,
				      READ,   READ,  CUT,   STAT, REMOVE,
				      RENAME, LINK,  SYNC};
	size_t of = sizeof op / sizeof *op;

	return (struct step){
		.op = op[(unsigned)rand_r(seed) % of],
		.a = (unsigned)rand_r(seed),
		.b = (unsigned)rand_r(seed),
		.value = (unsigned)rand_r(seed) % 255 + 1,
		.off = rand_r(seed) % PIECE,
		.n = (size_t)(rand_r(seed) % PIECE) + 1,
	};
}

/* Its own part of a file into which all clients write. */
static void share(struct client *c, const struct step *s, char *bytes)
{
	off_t base = (off_t)c->number * REGION;
	size_t n = s->n / 2;
	off_t off = base + s->off / 2;
	ssize_t got[2];

	memset(bytes, (int)s->value, n);
	for (int i = 0; i < 2; i++)
		if (pwrite(c->shared[i], bytes, n, off) != (ssize_t)n)
			snprintf(c->why, sizeof c->why, "a shared write");
	got[0] = pread(c->shared[0], bytes, REGION, base);
	got[1] = pread(c->shared[1], bytes + REGION, REGION, base);
	/* others may write past it, so only the lengths up to ours count */
	got[1] = got[1] < got[0] ? got[1] : got[0];
	if (got[1] < (ssize_t)(n + (size_t)(off - base)) ||
	    memcmp(bytes, bytes + REGION, (size_t)got[1]) != 0)
		snprintf(c->why, sizeof c->why, "client %d: the shared file",
			 c->number);
}

static void compare_results(struct client *c, int i, const struct step *s,
			    const struct result *m, const struct result *d)
{
	if (m->rc == d->rc && m->error == d->error &&
	    memcmp(m->bytes, d->bytes, PIECE) == 0)
		return;
	snprintf(c->why, sizeof c->why,
		 "client %d, step %d: op %u of f%u at %lld, %zu bytes: %ld "
		 "(%s) instead of %ld (%s)%s",
		 c->number, i, s->op, s->a % FILES, (long long)s->off, s->n,
		 m->rc, strerror(m->error), d->rc, strerror(d->error),
		 m->rc == d->rc ? ", other bytes" : "");
}

static void *run_client(void *arg)
{
	struct client *c = arg;
	struct result m = {.bytes = malloc(PIECE)},
		      d = {.bytes = malloc(PIECE)};
	char *both = malloc(2 * (size_t)REGION);

	if (!m.bytes || !d.bytes || !both)
		abort();
	for (int i = 0; i < c->steps && !c->why[0]; i++) {
		struct step s = make_step(&c->seed);

		take_step(&s, c->mount, O_DIRECT, &m);
		take_step(&s, c->disk, 0, &d);
		compare_results(c, i, &s, &m, &d);
		if (s.value % 4 == 0 && !c->why[0])
			share(c, &s, both);
	}
	free(m.bytes);
	free(d.bytes);
	free(both);
	return NULL;
}

static void client_open(struct client *c, int number, const char *mount,
			const char *disk)
{
	char path[1100];

	*c = (struct client){.number = number,
			     .steps = (int)from_env("VFS_THREADS_STEPS", 250),
			     .seed = (unsigned)from_env("VFS_THREADS_SEED", 1) *
					     CLIENTS +
				     (unsigned)number};
	snprintf(c->mount, sizeof c->mount, "%s/c%d", mount, number);
	snprintf(c->disk, sizeof c->disk, "%s/c%d", disk, number);
	assert_int_equal(mkdir(c->mount, 0755), 0);
	assert_int_equal(mkdir(c->disk, 0755), 0);
	snprintf(path, sizeof path, "%s/shared", mount);
	c->shared[0] = open(path, O_RDWR | O_CREAT | O_DIRECT, 0644);
	snprintf(path, sizeof path, "%s/shared", disk);
	c->shared[1] = open(path, O_RDWR | O_CREAT, 0644);
	assert_true(c->shared[0] >= 0 && c->shared[1] >= 0);
}

static void clients_work(const char *mount, const char *disk)
{
	struct client c[CLIENTS];
	pthread_t threads[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		client_open(&c[i], i, mount, disk);
	for (int i = 0; i < CLIENTS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, run_client, &c[i]),
			0);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < CLIENTS; i++) {
		close(c[i].shared[0]);
		close(c[i].shared[1]);
		if (c[i].why[0])
			fail_msg("%s", c[i].why);
	}
}

struct place {
	struct vfs_test t;
	char mount[1024], disk[1024];
	pid_t server;
};

static bool place_begin(struct place *p, int helpers)
{
	if (!served_possible())
		return false;
	vfs_test_begin(&p->t);
	snprintf(p->mount, sizeof p->mount, "%s", temp_join(&p->t.dir, "mnt"));
	snprintf(p->disk, sizeof p->disk, "%s", temp_join(&p->t.dir, "disk"));
	assert_int_equal(mkdir(p->mount, 0755), 0);
	assert_int_equal(mkdir(p->disk, 0755), 0);
	p->server = served_start(&p->t, p->mount, helpers);
	assert_true(p->server > 0);
	return true;
}

static void place_end(struct place *p)
{
	served_end(p->server);
	vfs_test_end(&p->t);
}

static void clients_at_once_see_what_they_wrote(void **state)
{
	struct place p;

	(void)state;
	if (!place_begin(&p, 3))
		skip();
	clients_work(p.mount, p.disk);
	place_end(&p);
}

static void helpers_that_sleep_serve_as_well(void **state)
{
	struct place p;

	(void)state;
	if (!place_begin(&p, 0))
		skip();
	clients_work(p.mount, p.disk);
	place_end(&p);
}

static void *read_on_and_on(void *arg)
{
	struct place *p = arg;
	char path[1100], text[64];

	snprintf(path, sizeof path, "%s/busy", p->mount);
	for (;;) {
		int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);

		if (fd < 0)
			return NULL; /* it was removed */
		(void)!pread(fd, text, sizeof text, 0);
		close(fd);
	}
}

static bool shows(const char *path, const char *want)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	return n >= 0 && strcmp(text, want) == 0;
}

/* What the kernel reads after it was told to forget stays in its cache: an
 * answer from an old transaction would be there for a day. */
static void what_others_write_shows_while_threads_read(void **state)
{
	struct place p;
	pthread_t reader;
	char path[1100], text[32], busy[1100];

	(void)state;
	if (!place_begin(&p, 2))
		skip();
	put(p.t.v, "/busy", "busy");
	snprintf(busy, sizeof busy, "%s/busy", p.mount);
	snprintf(path, sizeof path, "%s/other", p.mount);
	while (!shows(busy, "busy"))
		usleep(1000);
	assert_int_equal(pthread_create(&reader, NULL, read_on_and_on, &p), 0);
	for (int i = 0; i < 40; i++) {
		int64_t until = clock_mono_ns() + INT64_C(20000000000);

		snprintf(text, sizeof text, "version %d", i);
		put(p.t.v, "/other", text);
		while (!shows(path, text)) {
			if (clock_mono_ns() > until)
				fail_msg("the mount does not show %s", text);
			usleep(500);
		}
	}
	assert_int_equal(unlink(busy), 0);
	pthread_join(reader, NULL);
	place_end(&p);
}

#define LOG_PIECE (1 << 20)
/* A log is due for a reset at 64 MiB. Any number of readers may be in the way of
 * some attempts on a loaded machine, but not of all. */
#define LOG_LIMIT (INT64_C(1) << 30)

struct log_state {
	off_t bytes;
	uint32_t salt; /* changes when the log starts again */
};

static struct log_state log_state(struct place *p)
{
	char path[1100];
	struct log_state log = {0};
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "%s-wal", sql_path(p->t.db));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pread(fd, &log.salt, sizeof log.salt, 16),
			 sizeof log.salt);
	close(fd);
	log.bytes = st.st_size;
	return log;
}

/* Writes until the log starts again. */
static void write_much(struct place *p)
{
	uint64_t *piece = malloc(LOG_PIECE), x = 1;
	struct log_state first = log_state(p), log = first;
	char path[1100];

	assert_non_null(piece);
	snprintf(path, sizeof path, "%s/much", p->mount);
	for (int i = 0; log.salt == first.salt && log.bytes < LOG_LIMIT; i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		for (size_t k = 0; k < LOG_PIECE / sizeof *piece; k++)
			piece[k] = x = x * UINT64_C(6364136223846793005) + 1;
		assert_true(fd >= 0);
		assert_int_equal(pwrite(fd, piece, LOG_PIECE,
					(off_t)(i % 8) * LOG_PIECE),
				 LOG_PIECE);
		close(fd);
		log = log_state(p);
	}
	free(piece);
	assert_true(log.bytes < LOG_LIMIT);
}

/* A reader that keeps its transaction would keep the log. */
static void the_log_stays_short_while_threads_read(void **state)
{
	struct place p;
	pthread_t reader;
	char busy[1100];

	(void)state;
	if (!place_begin(&p, 2))
		skip();
	put(p.t.v, "/busy", "busy");
	snprintf(busy, sizeof busy, "%s/busy", p.mount);
	while (!shows(busy, "busy"))
		usleep(1000);
	assert_int_equal(pthread_create(&reader, NULL, read_on_and_on, &p), 0);
	write_much(&p);
	assert_int_equal(unlink(busy), 0);
	pthread_join(reader, NULL);
	place_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_at_once_see_what_they_wrote),
		cmocka_unit_test(helpers_that_sleep_serve_as_well),
		cmocka_unit_test(what_others_write_shows_while_threads_read),
		cmocka_unit_test(the_log_stays_short_while_threads_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
