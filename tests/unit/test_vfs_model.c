/*
 * Random operations on the library, on a mount and on a real directory, side
 * by side: after each step all have given the same answer and have the same
 * tree. A sequence that fails is shrunk before it is shown. VFS_MODEL_SEED and
 * VFS_MODEL_ROUNDS in the environment replay or prolong.
 */
#include "tests/support/vfs_model.h"
#include "tests/support/vfs_test.h"

#include "db/sql.h"
#include "vfs/mount.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define STEPS 150

static long from_env(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static void show(const struct step *steps, int n)
{
	for (int i = 0; i < n; i++) {
		char text[256];

		step_text(&steps[i], text, sizeof text);
		print_message("  %s\n", text);
	}
}

/* Takes out steps as long as what is left still fails. */
static int shrink(struct step *steps, int n, struct model *models[], int count)
{
	for (int size = n / 2; size > 0; size /= 2)
		for (int at = 0; at + size <= n;) {
			struct step less[STEPS];

			memcpy(less, steps, sizeof *less * (size_t)at);
			memcpy(less + at, steps + at + size,
			       sizeof *less * (size_t)(n - at - size));
			if (model_compare(models, count, less, n - size, NULL) <
			    0) {
				at += size;
				continue;
			}
			n -= size;
			memcpy(steps, less, sizeof *less * (size_t)n);
		}
	return n;
}

static void compare(struct model *models[], int count)
{
	long seed = from_env("VFS_MODEL_SEED", 1);
	long rounds = from_env("VFS_MODEL_ROUNDS", 40);

	for (long i = 0; i < rounds; i++, seed++) {
		struct step steps[STEPS];
		char why[1024];
		int n = STEPS;

		steps_make(steps, n, (unsigned)seed);
		if (model_compare(models, count, steps, n, NULL) < 0)
			continue;
		n = shrink(steps, n, models, count);
		model_compare(models, count, steps, n, why);
		print_message("seed %ld, %d steps:\n", seed, n);
		show(steps, n);
		fail_msg("%s", why);
	}
}

static void tell_ready(void *arg)
{
	if (write(*(int *)arg, "", 1) != 1)
		_exit(1);
}

/* Serves the test's namespace on `dir` in a process of its own. */
static pid_t start_mount(struct vfs_test *t, const char *dir)
{
	int ends[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct sql *db = vfs_test_connect(t);
		struct vfs_mount_options o = {.dir = dir,
					      .dev_suid = true,
					      .ready = tell_ready,
					      .arg = &ends[1]};
		struct vfs *v;
		struct err e;
		int rc = prctl(PR_SET_PDEATHSIG, SIGTERM) || /* a failed test */
			 vfs_open(&v, db, "main", "test", &e) ||
			 vfs_mount(v, &o, &e);

		if (rc)
			print_message("%s\n", e.text);
		else
			vfs_close(v);
		sql_close(db);
		_exit(rc != 0);
	}
	close(ends[1]);
	if (read(ends[0], &c, 1) != 1)
		pid = -1;
	close(ends[0]);
	return pid;
}

/* The mount has the namespace "main", so the library works in another. */
static struct vfs *second(struct vfs_test *t)
{
	struct vfs *v = NULL;
	struct err e;

	if (vfs_create(t->db, "second", NULL, &e) ||
	    vfs_open(&v, t->db, "second", "test", &e))
		fail_msg("%s", e.text);
	return v;
}

static void library_and_mount_do_what_a_directory_does(void **state)
{
	struct model lib, mnt, real, *models[] = {&lib, &mnt, &real};
	struct model *unmounted[] = {&lib, &real};
	struct vfs_test t;
	char dir[1024];
	struct err e;
	int status;
	pid_t pid;

	(void)state;
	vfs_test_begin(&t);
	model_directory(&real, "directory", temp_join(&t.dir, "real"));
	if (vfs_mount_check(&e) || geteuid() != 0) {
		print_message("without a mount: %s\n",
			      geteuid() ? "it needs root" : e.text);
		model_library(&lib, t.v);
		compare(unmounted, 2);
		vfs_test_end(&t);
		return;
	}
	snprintf(dir, sizeof dir, "%s", temp_join(&t.dir, "mnt"));
	assert_int_equal(mkdir(dir, 0755), 0);
	pid = start_mount(&t, dir);
	assert_true(pid > 0);
	model_library(&lib, second(&t));
	model_mount(&mnt, dir, t.v);
	compare(models, 3);
	lib.clear(&lib);
	mnt.clear(&mnt);
	vfs_close(lib.v);
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	vfs_test_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(library_and_mount_do_what_a_directory_does),
	};

	umask(0); /* the library knows none */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
