/* The processes of a run, seen from outside: supervisor/process/processes.h. Each
 * test is run with a cgroup, where one can be had, and without. */
#include "supervisor/process/processes.h"

#include "lib/os/proc.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define RUN "run_00000000000000000000000test"

static struct process_roots place;
static bool with_cgroup;

static int set_up_run_processes(void **state)
{
	char dir[256];

	with_cgroup = *state != NULL;
	process_roots_find(&place, with_cgroup ? "auto" : "off", "/nobody's");
	if (with_cgroup && place.base[0]) {
		processes_cgroup(&place, RUN, dir);
		mkdir(dir, 0755);
	}
	return 0;
}

static int tear_down_run_processes(void **state)
{
	(void)state;
	processes_remove_cgroup(&place, RUN);
	return 0;
}

/* A worker-like process that runs a shell; marked and, if so, in its cgroup. */
static struct processes start_shell(const char *script)
{
	char dir[256], path[300];
	struct proc_stat st;
	struct processes t = {.run = RUN, .in_cgroup = with_cgroup};
	int ready[2];
	char c;

	assert_int_equal(pipe(ready), 0);
	t.worker = fork();
	if (t.worker == 0) {
		FILE *f;

		processes_cgroup(&place, RUN, dir);
		snprintf(path, sizeof path, "%s/cgroup.procs", dir);
		if (with_cgroup) {
			f = fopen(path, "w");
			if (!f || fputs("0", f) < 0 || fclose(f))
				_exit(1);
		}
		setsid();
		setenv("SKEP_RUN_ID", RUN, 1);
		dup2(ready[1], 1);
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1); /* it said so */
	close(ready[0]);
	assert_int_equal(proc_stat(t.worker, &st), 0);
	t.start_ticks = st.start_ticks;
	return t;
}

static bool can(void)
{
	return !with_cgroup || place.base[0];
}

/* As a run is ended: killed again as long as something of it is seen. A process
 * that is just being executed has no marker for a moment. */
static void wait_gone(const struct processes *t)
{
	for (int i = 0; i < 500 && processes_count(&place, t, NULL) > 0; i++) {
		processes_signal(&place, t, SIGKILL);
		usleep(10000);
	}
	assert_int_equal(processes_count(&place, t, NULL), 0);
}

static void every_process_of_a_run_is_counted_and_killed(void **state)
{
	struct processes t;
	struct process_usage use = {0};
	bool denied;
	pid_t left;

	(void)state;
	if (!can())
		skip();
	t = start_shell(
		"(setsid sh -c 'trap \"\" TERM; sleep 100 & sleep 100' & ) ;"
		"sleep 0.1; echo .; sleep 100");
	usleep(100000);
	assert_true(processes_count(&place, &t, &use) >= 4);
	assert_true(use.rss > 0);
	left = processes_find_one(&place, &t, &denied);
	assert_true(left > 0 && !denied && kill(left, 0) == 0);
	processes_signal(&place, &t, SIGKILL);
	waitpid(t.worker, NULL, 0);
	wait_gone(&t);
	assert_int_equal(processes_find_one(&place, &t, &denied), 0);
}

static void what_a_dead_worker_leaves_is_found(void **state)
{
	struct processes t;

	(void)state;
	if (!can())
		skip();
	t = start_shell("(setsid sleep 100 & ) ; sleep 0.1; echo .; sleep 100");
	kill(t.worker, SIGKILL);
	waitpid(t.worker, NULL, 0);
	assert_true(processes_count(&place, &t, NULL) >= 1);
	processes_signal(&place, &t, SIGKILL);
	wait_gone(&t);
}

static void a_number_that_was_used_again_is_left_alone(void **state)
{
	struct processes t = {.run = RUN, .in_cgroup = with_cgroup};
	pid_t innocent = fork();

	(void)state;
	if (innocent == 0) {
		pause();
		_exit(0);
	}
	t.worker = innocent;
	t.start_ticks = 1; /* another process had this number once */
	if (can()) {
		assert_int_equal(processes_count(&place, &t, NULL), 0);
		processes_signal(&place, &t, SIGKILL);
		usleep(20000);
		assert_int_equal(waitpid(innocent, NULL, WNOHANG), 0);
	}
	kill(innocent, SIGKILL);
	waitpid(innocent, NULL, 0);
}

static void a_worker_is_found_again_by_its_marker(void **state)
{
	struct processes t;

	(void)state;
	if (!can())
		skip();
	assert_int_equal(processes_find_worker(&place, RUN), 0);
	t = start_shell("(setsid sleep 100 & ) ; sleep 0.1; echo .; sleep 100");
	assert_int_equal(processes_find_worker(&place, RUN), t.worker);
	assert_int_equal(processes_find_worker(&place, "run_other"), 0);
	processes_signal(&place, &t, SIGKILL);
	waitpid(t.worker, NULL, 0);
	wait_gone(&t);
}

#define T(name, how)                                                        \
	{                                                                   \
#name, name, set_up_run_processes, tear_down_run_processes, \
			how                                                 \
	}
#define BOTH(name) T(name, NULL), T(name, RUN_WITH_CGROUP)
static char with[] = "cgroup";
#define RUN_WITH_CGROUP with

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(every_process_of_a_run_is_counted_and_killed),
		BOTH(what_a_dead_worker_leaves_is_found),
		BOTH(a_number_that_was_used_again_is_left_alone),
		BOTH(a_worker_is_found_again_by_its_marker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
