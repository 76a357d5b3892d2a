/* Reading a log that is rotated meanwhile. */
#include "lib/base/buf.h"
#include "lib/os/file.h"
#include "lib/os/rotated_log.h"
#include "tests/support/temp.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 3000

static struct temp dir;

static int set_up_rotated_log(void **state)
{
	(void)state;
	temp_make(&dir);
	return 0;
}

static int tear_down_rotated_log(void **state)
{
	(void)state;
	temp_remove(&dir);
	return 0;
}

/* Numbers, one a line, a few in each file, as fast as it can. */
static void write_on(const char *path, const char *former)
{
	for (long n = 0;; n++) {
		int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);

		if (dprintf(fd, "%ld\n", n) < 0)
			_exit(1);
		close(fd);
		if (n % 4 == 3)
			rename(path, former);
	}
}

static void read_both(const char *path, struct buf *b)
{
	struct err e;
	int fds[2];

	rotated_log_open(path, fds);
	for (int i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		assert_int_equal(file_read_fd(fds[i], path, b, &e), 0);
		close(fds[i]);
	}
}

/* Each number is the one before it and one more. */
static bool is_whole(const struct buf *b)
{
	char *at;
	long n = strtol(b->p, &at, 10);

	while (at[0] && at[1])
		if (strtol(at + 1, &at, 10) != ++n)
			return false;
	return true;
}

static void no_line_is_missing_or_twice(void **state)
{
	char path[4096], former[4104];
	struct buf b = BUF_MAX(1u << 20);
	bool whole = true;
	pid_t writer;

	(void)state;
	snprintf(path, sizeof path, "%s/log", dir.path);
	snprintf(former, sizeof former, "%s.1", path);
	writer = fork();
	if (writer == 0)
		write_on(path, former);
	for (int i = 0; i < ROUNDS && whole; i++) {
		buf_clear(&b);
		read_both(path, &b);
		whole = b.n == 0 || is_whole(&b);
	}
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	assert_true(whole);
	buf_fini(&b);
}

static void what_is_not_there_is_not_opened(void **state)
{
	char path[4096];
	int fds[2];

	(void)state;
	snprintf(path, sizeof path, "%s/none", dir.path);
	rotated_log_open(path, fds);
	assert_int_equal(fds[0], -1);
	assert_int_equal(fds[1], -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_line_is_missing_or_twice),
		cmocka_unit_test(what_is_not_there_is_not_opened),
	};

	return cmocka_run_group_tests(tests, set_up_rotated_log,
				      tear_down_rotated_log);
}
