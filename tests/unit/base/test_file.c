#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "tests/support/temp.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct temp dir;

static void write_file(const char *path, const char *text)
{
	struct err e;

	if (atomic_file_write(path, text, strlen(text), 0600, &e))
		fail_msg("%s", e.text);
}

static void a_file_is_read_whole_up_to_its_limit(void **state)
{
	const char *path = temp_join(&dir, "read");
	struct buf exact, less;
	struct err e;

	(void)state;
	write_file(path, "12345678");
	buf_init(&exact, 8);
	assert_int_equal(file_read(path, &exact, &e), 0);
	assert_string_equal(exact.p, "12345678");
	buf_init(&less, 7);
	assert_int_equal(file_read(path, &less, &e), -1);
	assert_int_equal(e.code, ERR_TOOBIG);
	assert_non_null(strstr(e.text, path));
	buf_fini(&exact);
	buf_fini(&less);
}

static void what_cannot_be_read_is_named(void **state)
{
	struct buf b = BUF_MAX(100);
	const char *path = temp_join(&dir, "nothing");
	struct err e;

	(void)state;
	assert_int_equal(file_read(path, &b, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_non_null(strstr(e.text, path));
	assert_int_equal(file_read(dir.path, &b, &e), -1);
	buf_fini(&b);
}

static int count_files(void)
{
	DIR *d = opendir(dir.path);
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void a_pipe_is_not_waited_for(void **state)
{
	const char *path = temp_join(&dir, "pipe");
	struct buf b = BUF_MAX(100);
	struct err e;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(60);
	assert_int_equal(file_read(path, &b, &e), -1);
	alarm(0);
	assert_int_equal(e.code, ERR_INVALID);
	assert_non_null(strstr(e.text, path));
	buf_fini(&b);
}

static void an_atomic_write_replaces_and_leaves_nothing_beside(void **state)
{
	const char *path = temp_join(&dir, "atomic");
	int before = count_files();
	struct buf b = BUF_MAX(100);
	struct stat st;
	struct err e;

	(void)state;
	write_file(path, "one");
	write_file(path, "two");
	assert_int_equal(file_read(path, &b, &e), 0);
	assert_string_equal(b.p, "two");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(count_files(), before + 1);
	buf_fini(&b);
}

static void a_write_that_cannot_be_keeps_the_old_file(void **state)
{
	struct err e;
	const char *in_nothing = temp_join(&dir, "no/such/place");

	(void)state;
	assert_int_equal(atomic_file_write(in_nothing, "x", 1, 0600, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
	assert_int_equal(atomic_file_write(dir.path, "x", 1, 0600, &e), -1);
	assert_true(file_exists(dir.path));
}

/* What a process with our pid left behind when it died must not stop us. */
static void a_leftover_of_a_dead_namesake_is_no_obstacle(void **state)
{
	const char *path = temp_join(&dir, "again");
	char left[4096];
	int fd;

	(void)state;
	snprintf(left, sizeof left, "%s.new.%d", path, (int)getpid());
	fd = open(left, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	write_file(path, "fresh");
	unlink(left);
}

static void *write_many(void *arg)
{
	for (int i = 0; i < 50; i++)
		write_file(arg, i % 2 ? "odd odd odd" : "even");
	return NULL;
}

static void threads_that_write_one_file_do_not_clash(void **state)
{
	char path[4096];
	pthread_t threads[4];
	struct buf b = BUF_MAX(100);
	struct err e;

	(void)state;
	snprintf(path, sizeof path, "%s", temp_join(&dir, "shared"));
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, write_many, path);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(file_read(path, &b, &e), 0);
	assert_string_equal(b.p, "odd odd odd");
	buf_fini(&b);
}

#define SIZE 300000

static void fill_page(char *p, char c)
{
	memset(p, c, SIZE);
}

/* Kills a process that writes 'a' and 'b' in turn, some hundred times, at any
 * point: the file is all 'a' or all 'b'. */
static void a_write_that_is_killed_leaves_old_or_new(void **state)
{
	static char text[SIZE];
	const char *path = temp_join(&dir, "killed");
	struct err e;

	(void)state;
	fill_page(text, 'a');
	assert_int_equal(atomic_file_write(path, text, SIZE, 0600, &e), 0);
	for (int i = 0; i < 60; i++) {
		struct buf b = BUF_MAX(SIZE);
		pid_t pid = fork();

		if (pid == 0)
			for (int k = 0;; k++) {
				fill_page(text, k % 2 ? 'a' : 'b');
				atomic_file_write(path, text, SIZE, 0600, &e);
			}
		usleep(300 + (unsigned)(i * 97 % 4000));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		assert_int_equal(file_read(path, &b, &e), 0);
		assert_int_equal(b.n, SIZE);
		assert_true(b.p[0] == 'a' || b.p[0] == 'b');
		assert_memory_equal(b.p, b.p + 1, SIZE - 1);
		buf_fini(&b);
	}
}

static void directories_are_made_with_their_parents(void **state)
{
	struct stat st;
	struct err e;
	mode_t was = umask(0);

	(void)state;
	assert_int_equal(file_make_dir(temp_join(&dir, "d/e//f/"), 0700, &e),
			 0);
	umask(was);
	assert_int_equal(stat(temp_join(&dir, "d/e/f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(file_make_dir(temp_join(&dir, "d/e/f"), 0755, &e), 0);
	assert_int_equal(stat(temp_join(&dir, "d/e/f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void a_file_in_the_way_of_a_directory_is_named(void **state)
{
	const char *path = temp_join(&dir, "plain");
	struct err e;

	(void)state;
	write_file(path, "x");
	assert_int_equal(file_make_dir(path, 0700, &e), -1);
	assert_non_null(strstr(e.text, path));
	assert_int_equal(file_make_dir(temp_join(&dir, "plain/x"), 0700, &e),
			 -1);
	assert_int_equal(file_make_dir("", 0700, &e), -1);
}

static void local_filesystems_are_no_network(void **state)
{
	char deep[4096];

	(void)state;
	assert_null(file_network_fs(dir.path));
	snprintf(deep, sizeof deep, "%s/not/there/yet", dir.path);
	assert_null(file_network_fs(deep));
	assert_null(file_network_fs("nothing-here"));
	assert_null(file_network_fs("/nothing-here"));
}

static void sizes_and_presence_are_told(void **state)
{
	const char *path = temp_join(&dir, "sized");

	(void)state;
	assert_int_equal(file_size(path), -1);
	assert_false(file_exists(path));
	write_file(path, "12345");
	assert_int_equal(file_size(path), 5);
	assert_true(file_exists(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_whole_up_to_its_limit),
		cmocka_unit_test(what_cannot_be_read_is_named),
		cmocka_unit_test(a_pipe_is_not_waited_for),
		cmocka_unit_test(
			an_atomic_write_replaces_and_leaves_nothing_beside),
		cmocka_unit_test(a_write_that_cannot_be_keeps_the_old_file),
		cmocka_unit_test(a_leftover_of_a_dead_namesake_is_no_obstacle),
		cmocka_unit_test(threads_that_write_one_file_do_not_clash),
		cmocka_unit_test(a_write_that_is_killed_leaves_old_or_new),
		cmocka_unit_test(directories_are_made_with_their_parents),
		cmocka_unit_test(a_file_in_the_way_of_a_directory_is_named),
		cmocka_unit_test(local_filesystems_are_no_network),
		cmocka_unit_test(sizes_and_presence_are_told),
	};
	int bad;

	temp_make(&dir);
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	temp_remove(&dir);
	return bad;
}
