#include "ops/backup/archive_read.h"
#include "ops/backup/archive_write.h"

#include "tests/support/temp.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir;

static int set_up_archive(void **state)
{
	(void)state;
	temp_make(&dir);
	return 0;
}

static int tear_down_archive(void **state)
{
	(void)state;
	temp_remove(&dir);
	return 0;
}

static const char *make_archive(const char *name, bool zstd)
{
	const char *path = temp_join(&dir, name);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct pack_sum sum;
	struct pack *p;
	struct err e;

	assert_true(fd >= 0);
	assert_int_equal(pack_new(&p, fd, path, zstd, &e), 0);
	assert_int_equal(pack_bytes(p, "a", "hello", 5, &sum, &e), 0);
	assert_int_equal(pack_bytes(p, "b/c", "", 0, &sum, &e), 0);
	assert_int_equal(pack_end(p, &sum, &e), 0);
	assert_int_equal(sum.bytes, lseek(fd, 0, SEEK_END));
	pack_free(p);
	close(fd);
	return path;
}

/* The names in it, "" if it is not whole. */
static const char *names(const char *path)
{
	static char out[256];
	int fd = open(path, O_RDONLY), got = -1;
	struct unpack_item it;
	struct unpack *u = NULL;
	char sha256[HASH_HEX];
	struct err e = {0};

	out[0] = '\0';
	if (unpack_new(&u, fd, path, &e) == 0)
		while ((got = unpack_next(u, &it, &e)) > 0) {
			snprintf(out + strlen(out), sizeof out - strlen(out),
				 "%s ", it.path);
			if (unpack_data(u, -1, it.path, sha256, &e)) {
				got = -1;
				break;
			}
		}
	if (got < 0 || unpack_end(u, &e)) {
		assert_int_equal(e.code, ERR_CORRUPT);
		out[0] = '\0';
	}
	unpack_free(u);
	close(fd);
	return out;
}

static void what_was_packed_comes_out(void **state)
{
	(void)state;
	assert_string_equal(names(make_archive("plain", false)), "a b/c ");
	assert_string_equal(names(make_archive("zstd", true)), "a b/c ");
}

static void flip(const char *path, off_t at, int bit)
{
	int fd = open(path, O_RDWR);
	unsigned char c;

	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= (unsigned char)(1 << bit);
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void every_single_flipped_byte_is_found(void **state)
{
	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		const char *path = make_archive("flipped", zstd);
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		for (off_t i = 0; i < st.st_size; i++) {
			flip(path, i, (int)(i % 8));
			assert_string_equal(names(path), "");
			flip(path, i, (int)(i % 8));
		}
		assert_string_equal(names(path), "a b/c ");
	}
}

static void every_cut_is_found(void **state)
{
	const char *path = make_archive("cut", false);
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	for (off_t n = st.st_size - 1; n >= 0; n -= 97) {
		assert_int_equal(truncate(path, n), 0);
		assert_string_equal(names(path), "");
	}
}

static void a_path_that_leads_out_is_refused(void **state)
{
	static const char *const paths[] = {"../x", "/etc/x", "a/../../x",
					    ".."};

	(void)state;
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		const char *path = temp_join(&dir, "evil");
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		struct pack_sum sum;
		struct pack *p;
		struct err e;

		assert_int_equal(pack_new(&p, fd, path, false, &e), 0);
		assert_int_equal(pack_bytes(p, paths[i], "x", 1, &sum, &e), 0);
		assert_int_equal(pack_end(p, &sum, &e), 0);
		pack_free(p);
		close(fd);
		assert_string_equal(names(path), "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_packed_comes_out),
		cmocka_unit_test(every_single_flipped_byte_is_found),
		cmocka_unit_test(every_cut_is_found),
		cmocka_unit_test(a_path_that_leads_out_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up_archive, tear_down_archive);
}
