/* On which processor the server of a mount runs. */
#include "vfs/fuse/placement.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 20 /* requests: enough to move */

static cpu_set_t all;

static void run_a_moment(int sig)
{
	(void)sig;
}

/* A process that stays on this processor until it is killed. */
static pid_t client_on(int cpu)
{
	cpu_set_t one;
	int ends[2];
	pid_t pid;
	char c;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (signal(SIGUSR1, run_a_moment) == SIG_ERR ||
		    sched_setaffinity(0, sizeof one, &one) ||
		    write(ends[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &c, 1), 1);
	close(ends[0]);
	return pid;
}

static void client_end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void send_requests(struct placement *p, pid_t client, int n)
{
	for (int i = 0; i < n; i++)
		placement_request(p, client, false);
}

static void assert_on(int cpu)
{
	cpu_set_t now;

	assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
	assert_int_equal(CPU_COUNT(&now), 1);
	assert_true(CPU_ISSET((size_t)cpu, &now));
	assert_int_equal(sched_getcpu(), cpu);
}

static void assert_anywhere(void)
{
	cpu_set_t now;

	assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
	assert_true(CPU_EQUAL(&now, &all));
}

static int set_up_placement(void **state)
{
	(void)state;
	return sched_getaffinity(0, sizeof all, &all);
}

static int tear_down_placement(void **state)
{
	(void)state;
	return sched_setaffinity(0, sizeof all, &all);
}

static void the_server_follows_one_client_to_any_processor(void **state)
{
	struct placement p;

	(void)state;
	placement_init(&p);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		pid_t client;

		if (!CPU_ISSET((size_t)cpu, &all))
			continue;
		client = client_on(cpu);
		send_requests(&p, client, 3);
		if (CPU_COUNT(&all) > 1)
			assert_anywhere(); /* too few to know */
		send_requests(&p, client, MANY);
		assert_on(cpu);
		client_end(client);
	}
}

static void a_client_that_moves_is_found_again(void **state)
{
	struct placement p;
	pid_t client = client_on(sched_getcpu());

	(void)state;
	if (CPU_COUNT(&all) < 2) {
		client_end(client);
		print_message("skipped: one processor\n");
		skip();
	}
	placement_init(&p);
	send_requests(&p, client, MANY);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one;

		if (!CPU_ISSET((size_t)cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET((size_t)cpu, &one);
		assert_int_equal(sched_setaffinity(client, sizeof one, &one),
				 0);
		kill(client, SIGUSR1); /* it runs there */
		while (p.cpu != cpu)
			send_requests(&p, client, 1);
		assert_on(cpu);
	}
	client_end(client);
}

static void several_clients_leave_the_server_free(void **state)
{
	struct placement p;
	pid_t a = client_on(sched_getcpu()), b = client_on(sched_getcpu());

	(void)state;
	placement_init(&p);
	send_requests(&p, a, MANY);
	assert_on(p.cpu);
	send_requests(&p, b, 1);
	assert_anywhere();
	for (int i = 0; i < MANY; i++) {
		send_requests(&p, a, 1);
		send_requests(&p, b, 1);
	}
	assert_anywhere();
	client_end(a);
	client_end(b);
}

static void requests_at_once_leave_the_server_free(void **state)
{
	struct placement p;
	pid_t client = client_on(sched_getcpu());

	(void)state;
	placement_init(&p);
	send_requests(&p, client, MANY);
	assert_on(p.cpu);
	placement_request(&p, client, true);
	assert_anywhere();
	client_end(client);
}

static void requests_of_the_kernel_change_nothing(void **state)
{
	struct placement p;
	pid_t client = client_on(sched_getcpu());

	(void)state;
	placement_init(&p);
	for (int i = 0; i < MANY; i++) {
		send_requests(&p, client, 1);
		placement_request(&p, 0, true);
	}
	assert_on(p.cpu);
	client_end(client);
}

static void a_removal_is_served_on_any_processor(void **state)
{
	struct placement p;
	pid_t client = client_on(sched_getcpu());

	(void)state;
	placement_init(&p);
	send_requests(&p, client, MANY);
	assert_on(p.cpu);
	for (int i = 0; i < 3 * MANY; i++) {
		send_requests(&p, client, 1);
		placement_apart(&p);
		assert_true(p.unknown);
		assert_anywhere();
	}
	send_requests(&p, client, 2 * MANY); /* no removals any more */
	assert_false(p.unknown);
	assert_on(p.cpu);
	placement_apart(&p);
	placement_idle(&p);
	assert_false(p.unknown);
	client_end(client);
}

static void a_client_that_cannot_be_found_is_reported(void **state)
{
	struct placement p;
	pid_t client = client_on(sched_getcpu());

	(void)state;
	client_end(client);
	placement_init(&p);
	assert_false(p.unknown);
	send_requests(&p, client, MANY);
	assert_true(p.unknown);
	assert_anywhere();
}

#define T(name)                                                 \
	cmocka_unit_test_setup_teardown(name, set_up_placement, \
					tear_down_placement)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_server_follows_one_client_to_any_processor),
		T(a_client_that_moves_is_found_again),
		T(several_clients_leave_the_server_free),
		T(requests_at_once_leave_the_server_free),
		T(requests_of_the_kernel_change_nothing),
		T(a_removal_is_served_on_any_processor),
		T(a_client_that_cannot_be_found_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
