/* A mount whose readers cannot read the agent file. */
#include "tests/support/vfs_served.h"
#include "tests/support/vfs_test.h"

#include "lib/db/checkpoint.h"
#include "lib/db/sql.h"
#include "lib/db/sql_map.h"

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

#define PIECE (1 << 20)
#define SIZE  (4 * PIECE)
#define BLOBS (SIZE / 65536)

/* Bytes that LZ4 does not make smaller. */
static void fill_incompressible(uint64_t *p, size_t bytes, uint64_t x)
{
	for (size_t i = 0; i < bytes / sizeof *p; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		p[i] = x ^ x >> 29;
	}
}

static void put_large(struct vfs_test *t, const char *path)
{
	struct sql_checkpoint_result r;
	struct vfs_attr a;
	struct err e;
	uint64_t *room = malloc(PIECE);

	assert_non_null(room);
	put(t->v, path, "");
	a = stat_of(t->v, path);
	for (int i = 0; i < SIZE / PIECE; i++) {
		fill_incompressible(room, PIECE, (uint64_t)i);
		assert_int_equal(vfs_pwrite(t->v, a.ino, room, PIECE,
					    (int64_t)i * PIECE, &e),
				 0);
	}
	free(room);
	assert_int_equal(
		sql_checkpoint(t->db, SQL_CHECKPOINT_TRUNCATE, 5000, &r, &e),
		0);
}

struct reading {
	char path[1100];
	_Atomic bool stop;
	_Atomic int good, failed, wrong;
};

/* The last piece, past the kernel's cache, again and again. */
static void *read_on_and_on(void *arg)
{
	struct reading *r = arg;
	char *got = aligned_alloc(4096, PIECE);
	uint64_t *want = malloc(PIECE);
	int fd = open(r->path, O_RDONLY | O_DIRECT | O_CLOEXEC);

	if (fd < 0 || !got || !want)
		abort();
	fill_incompressible(want, PIECE, SIZE / PIECE - 1);
	while (!r->stop) {
		ssize_t n = pread(fd, got, PIECE, SIZE - PIECE);

		if (n < 0 && errno == EIO)
			r->failed++;
		else if (n == PIECE && memcmp(got, want, PIECE) == 0)
			r->good++;
		else
			r->wrong++;
	}
	close(fd);
	free(got);
	free(want);
	return NULL;
}

/* Until so many more are counted, or something is wrong. */
static void until(struct reading *r, _Atomic int *count, int more)
{
	for (int before = *count; *count < before + more && !r->wrong;)
		usleep(1000);
}

/* The end of the agent file, taken away and put back. */
struct tail {
	const char *path;
	off_t at;
	size_t n;
	char *bytes;
};

static void tail_take(struct tail *t)
{
	struct stat st;
	int fd = open(t->path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	t->at = st.st_size - (off_t)t->n;
	t->bytes = malloc(t->n);
	assert_non_null(t->bytes);
	assert_int_equal(pread(fd, t->bytes, t->n, t->at), t->n);
	close(fd);
	assert_int_equal(truncate(t->path, t->at), 0);
}

static void tail_put(struct tail *t)
{
	int fd = open(t->path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, t->bytes, t->n, t->at), t->n);
	close(fd);
	free(t->bytes);
}

static int64_t blobs_read(struct sql *db)
{
	struct err e;
	int64_t n = 0;

	if (sql_script_i64(db, "SELECT sum(hex(data) <> '') FROM vfs_blob", &n,
			   &e))
		n = -1;
	return n;
}

/* All blobs, in a mapped transaction; the file is cut before if `tail` is given.
 * Whether they can be trusted. */
static bool read_mapped(struct sql *db, struct tail *tail)
{
	struct err e;
	bool failed;

	assert_int_equal(sql_enter_read(db, &e), 0);
	assert_int_equal(number(db, "SELECT count(*) FROM vfs_ns"), 1);
	sql_map_begin(db);
	if (tail)
		tail_take(tail);
	if (blobs_read(db) != BLOBS)
		assert_true(sql_map_failed());
	failed = sql_map_failed();
	(void)sql_leave(db, 0, &e);
	sql_map_end(db);
	return !failed;
}

/* A mapping of a file that was cut is as bad as a disk that fails to read: the
 * kernel raises SIGBUS. */
static void a_mapped_page_that_cannot_be_read_is_noticed(void **state)
{
	struct vfs_test t;
	struct tail tail;
	struct sql *db;
	struct err e;

	(void)state;
	vfs_test_begin(&t);
	put_large(&t, "/large");
	assert_int_equal(sql_open(&db, sql_path(t.db), NULL, SQL_READONLY, &e),
			 0);
	assert_int_equal(sql_map(db, &e), 0);
	tail = (struct tail){.path = sql_path(t.db), .n = SIZE / 2};
	assert_true(read_mapped(db, NULL));
	assert_false(read_mapped(db, &tail));
	tail_put(&tail);
	assert_true(read_mapped(db, NULL));
	sql_close(db);
	vfs_test_end(&t);
}

/* A reader of the mount gets what is there, or an error, and the mount stays. */
static void a_page_that_cannot_be_read_is_an_error(void **state)
{
	static struct reading r;
	struct vfs_test t;
	struct tail tail;
	struct stat st;
	pthread_t thread;
	char mnt[1024];
	pid_t server;

	(void)state;
	if (!served_possible())
		skip();
	vfs_test_begin(&t);
	snprintf(mnt, sizeof mnt, "%s", temp_join(&t.dir, "mnt"));
	assert_int_equal(mkdir(mnt, 0755), 0);
	put_large(&t, "/large");
	server = served_start(&t, mnt, 1);
	assert_true(server > 0);
	snprintf(r.path, sizeof r.path, "%s/large", mnt);
	tail = (struct tail){.path = sql_path(t.db), .n = SIZE / 2};
	assert_int_equal(pthread_create(&thread, NULL, read_on_and_on, &r), 0);
	until(&r, &r.good, 10);
	tail_take(&tail);
	until(&r, &r.failed, 10);
	assert_int_equal(stat(mnt, &st), 0);
	r.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(r.wrong, 0);
	tail_put(&tail);
	served_end(server);
	vfs_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapped_page_that_cannot_be_read_is_noticed),
		cmocka_unit_test(a_page_that_cannot_be_read_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
