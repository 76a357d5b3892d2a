/*
 * Random operations on the library, on a mount and on a real directory, side
 * by side: after each step all have given the same answer and have the same
 * tree. A sequence that fails is shrunk before it is shown. VFS_MODEL_SEED and
 * VFS_MODEL_ROUNDS in the environment replay or prolong.
 */
#include "tests/support/vfs_model.h"
#include "tests/support/vfs_served.h"
#include "tests/support/vfs_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define STEPS 150

static long from_env(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 10) : otherwise;
}

static void show_steps(const struct step *steps, int n)
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

static void compare_models(struct model *models[], int count, long first)
{
	long seed = from_env("VFS_MODEL_SEED", first);
	long rounds = from_env("VFS_MODEL_ROUNDS", 20);

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
		show_steps(steps, n);
		fail_msg("%s", why);
	}
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

static void check_models(int helpers, long first)
{
	struct model lib, mnt, real, *models[] = {&lib, &mnt, &real};
	struct model *unmounted[] = {&lib, &real};
	struct vfs_test t;
	char dir[1024];
	pid_t pid;

	vfs_test_begin(&t);
	model_directory(&real, "directory", temp_join(&t.dir, "real"));
	if (!served_possible()) {
		model_library(&lib, t.v);
		compare_models(unmounted, 2, first);
		vfs_test_end(&t);
		return;
	}
	snprintf(dir, sizeof dir, "%s", temp_join(&t.dir, "mnt"));
	assert_int_equal(mkdir(dir, 0755), 0);
	pid = served_start(&t, dir, helpers);
	assert_true(pid > 0);
	model_library(&lib, second(&t));
	model_mount(&mnt, dir, t.v);
	compare_models(models, 3, first);
	lib.clear(&lib);
	mnt.clear(&mnt);
	vfs_close(lib.v);
	served_end(pid);
	vfs_test_end(&t);
}

static void library_and_mount_do_what_a_directory_does(void **state)
{
	(void)state;
	check_models(0, 1);
}

static void so_does_a_mount_that_several_threads_serve(void **state)
{
	(void)state;
	check_models(2, 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(library_and_mount_do_what_a_directory_does),
		cmocka_unit_test(so_does_a_mount_that_several_threads_serve),
	};

	umask(0); /* the library knows none */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
