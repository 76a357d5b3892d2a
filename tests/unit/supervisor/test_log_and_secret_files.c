/* Files of channels: lines that are written once, secrets that change. */
#include "tests/support/temp.h"

#include "lib/os/file.h"
#include "supervisor/channel/file/rotating_log.h"
#include "supervisor/channel/secret_file.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define START "{\"id\":\"dlv_"

static struct temp dir;
static struct rotating_log file;

static int set_up_log_and_secret_files(void **state)
{
	(void)state;
	temp_make(&dir);
	file = (struct rotating_log){
		.path = temp_join(&dir, "lines"),
		.start = START,
		.rotate = 1 << 30,
		.keep = 2,
		.lock_timeout_ms = 100,
	};
	return 0;
}

static int tear_down_log_and_secret_files(void **state)
{
	(void)state;
	temp_remove(&dir);
	return 0;
}

static void write_text(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
}

static int has(const char *start)
{
	struct wanted_line wanted = {.start = start};
	struct err e = {0};

	return rotating_log_find(&file, &wanted, 1, &e) ? -1 : wanted.found;
}

/* A file is read in pieces of a MiB; a line may begin or end anywhere. */
static void a_line_is_found_wherever_it_is(void **state)
{
	enum { MIB = 1 << 20, SIZE = 3 * MIB };
	static const char line[] = START "7\"}\n";
	char *text = malloc(SIZE);

	(void)state;
	for (int at = MIB - 40; at < MIB + 40; at++) {
		memset(text, 'x', SIZE);
		text[SIZE - 1] = text[at - 1] = '\n';
		memcpy(text + at, line, sizeof line - 1);
		write_text(file.path, text, SIZE);
		assert_int_equal(has(START "7\""), 1);
		assert_int_equal(has(START "8\""), 0);
		text[at - 1] = 'x'; /* in the middle of another */
		write_text(file.path, text, SIZE);
		assert_int_equal(has(START "7\""), 0);
	}
	/* longer than a piece, at the end of which it says whether it is one */
	memset(text, 'x', SIZE);
	memcpy(text, START "9\"", sizeof START "9\"" - 1);
	text[SIZE - 2] = '}';
	write_text(file.path, text, SIZE);
	assert_int_equal(has(START "9\""), 0);
	text[SIZE - 1] = '\n';
	write_text(file.path, text, SIZE);
	assert_int_equal(has(START "9\""), 1);
	text[SIZE - 2] = 'x';
	write_text(file.path, text, SIZE);
	assert_int_equal(has(START "9\""), 0);
	free(text);
}

static void a_line_is_found_in_a_former_file(void **state)
{
	static const char line[] = START "1\"}\n";
	bool unknown;
	struct err e = {0};

	(void)state;
	file.rotate = 1;
	assert_int_equal(has(START "1\""), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			rotating_log_append(
				&file,
				i ? (struct blob){"x\n", 2}
				  : (struct blob){line, sizeof line - 1},
				&unknown, &e),
			0);
		assert_int_equal(has(START "1\""), 1);
	}
	assert_int_equal(rotating_log_append(&file, (struct blob){"x\n", 2},
					     &unknown, &e),
			 0);
	assert_int_equal(has(START "1\""), 0); /* two are kept */
}

/* Some in this file, some in that, one twice, one not at all. */
static void many_lines_are_found_in_one_pass(void **state)
{
	enum { LINES = 300 };
	static char starts[LINES][32];
	struct wanted_line wanted[LINES + 1];
	char old[PATH_MAX];
	FILE *now, *before;
	struct err e = {0};

	(void)state;
	snprintf(old, sizeof old, "%s.2", file.path);
	now = fopen(file.path, "w");
	before = fopen(old, "w");
	for (int i = 0; i < LINES; i++) {
		snprintf(starts[i], sizeof starts[i], START "%d\"",
			 (i * 7919) % LINES); /* in no order */
		wanted[i] = (struct wanted_line){starts[i], false, starts[i]};
		if (i != 77)
			fprintf(i % 2 ? now : before, "%s}\n", starts[i]);
	}
	fclose(now);
	fclose(before);
	wanted[LINES] = wanted[5];
	assert_int_equal(rotating_log_find(&file, wanted, LINES + 1, &e), 0);
	for (int i = 0; i <= LINES; i++) {
		assert_ptr_equal(wanted[i].start, wanted[i].owner);
		assert_int_equal(wanted[i].found,
				 wanted[i].start != starts[77]);
	}
}

/* What was found before it came to that is found. */
static void of_a_locked_file_it_cannot_be_said(void **state)
{
	struct wanted_line wanted[] = {{.start = START "1\""},
				       {.start = START "2\""}};
	char old[PATH_MAX];
	struct err e = {0};
	int fd;

	(void)state;
	snprintf(old, sizeof old, "%s.1", file.path);
	write_text(file.path, START "1\"}\n", sizeof START "1\"}\n" - 1);
	write_text(old, START "2\"}\n", sizeof START "2\"}\n" - 1);
	fd = open(old, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(rotating_log_find(&file, wanted, 2, &e), -1);
	assert_int_equal(e.code, ERR_BUSY);
	assert_true(wanted[0].found);
	assert_false(wanted[1].found);
	close(fd);
	assert_int_equal(rotating_log_find(&file, wanted, 2, &e), 0);
	assert_true(wanted[0].found && wanted[1].found);
}

static void *append_one(void *arg)
{
	bool unknown;

	if (rotating_log_append(&file, (struct blob){"one\n", 4}, &unknown,
				arg))
		return arg;
	return NULL;
}

/* Who waited for the lock while another rotated writes to the new file. */
static void what_waited_goes_to_the_file_of_that_name(void **state)
{
	char moved[PATH_MAX];
	struct err e = {0};
	pthread_t thread;
	void *failed;
	int fd;

	(void)state;
	file.lock_timeout_ms = 30000;
	write_text(file.path, "old\n", 4);
	fd = open(file.path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(pthread_create(&thread, NULL, append_one, &e), 0);
	poll(NULL, 0, 200); /* it has opened the file, most likely */
	snprintf(moved, sizeof moved, "%s.moved", file.path);
	assert_int_equal(rename(file.path, moved), 0);
	close(fd);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_int_equal(file_size(file.path), 4);
	assert_int_equal(file_size(moved), 4);
}

/* Clocks of filesystems are coarse: two writes may look like one. */
static void a_secret_that_changes_at_once_is_seen(void **state)
{
	char path[4096];
	struct secret_file f = {.path = path};
	struct buf text = BUF_MAX(64);
	struct err e = {0};

	(void)state;
	snprintf(path, sizeof path, "%s", temp_join(&dir, "secret"));
	write_text(path, "one\n\n", 5);
	assert_int_equal(secret_file_read(&f, &text, &e), 0);
	assert_string_equal(text.p, "one");
	write_text(path, "two\n\n", 5);
	assert_int_equal(stat(path, &f.seen), 0); /* as if at the same tick */
	assert_false(secret_file_changed(&f));    /* a moment ago it was not */
	poll(NULL, 0, 250);
	assert_true(secret_file_changed(&f));
	buf_clear(&text);
	assert_int_equal(secret_file_read(&f, &text, &e), 0);
	assert_string_equal(text.p, "two");
	/* long ago: it is not read again without need */
	f.unchanged = true;
	f.checked_at = 0;
	assert_false(secret_file_changed(&f));
	buf_fini(&text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_line_is_found_wherever_it_is,
						set_up_log_and_secret_files,
						tear_down_log_and_secret_files),
		cmocka_unit_test_setup_teardown(
			a_line_is_found_in_a_former_file,
			set_up_log_and_secret_files,
			tear_down_log_and_secret_files),
		cmocka_unit_test_setup_teardown(
			many_lines_are_found_in_one_pass,
			set_up_log_and_secret_files,
			tear_down_log_and_secret_files),
		cmocka_unit_test_setup_teardown(
			of_a_locked_file_it_cannot_be_said,
			set_up_log_and_secret_files,
			tear_down_log_and_secret_files),
		cmocka_unit_test_setup_teardown(
			what_waited_goes_to_the_file_of_that_name,
			set_up_log_and_secret_files,
			tear_down_log_and_secret_files),
		cmocka_unit_test_setup_teardown(
			a_secret_that_changes_at_once_is_seen,
			set_up_log_and_secret_files,
			tear_down_log_and_secret_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
