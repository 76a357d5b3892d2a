#include "worker/run/commands.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct commands commands;

static int set_up_worker_commands(void **state)
{
	struct err e;

	(void)state;
	return commands_init(&commands, &e);
}

static int tear_down_worker_commands(void **state)
{
	(void)state;
	commands_fini(&commands);
	return 0;
}

static bool readable(void)
{
	struct pollfd p = {.fd = commands.fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static struct msg cancel(const char *why)
{
	struct msg m = {.type = MSG_TYPE_CANCEL};

	m.u.cancel = (struct msg_cancel){1, why, 70};
	return m;
}

static void the_first_reason_to_end_stays(void **state)
{
	struct msg m = cancel("first");
	char why[COMMANDS_WHY];
	int64_t grace = 5;

	(void)state;
	assert_false(commands_ending(&commands));
	commands_command(&commands, &m);
	commands_end(&commands, REASON_run_timeout, "second");
	assert_true(commands_ending(&commands));
	assert_int_equal(commands_reason(&commands, why, &grace),
			 REASON_cancelled);
	assert_string_equal(why, "first");
	assert_int_equal(grace, 70);
}

static void commands_wait_in_order_and_outlive_their_sender(void **state)
{
	char text[] = "one";
	struct msg m = {.type = MSG_TYPE_MESSAGE}, got;
	struct arena a = {0};

	(void)state;
	m.u.message = (struct msg_message){.id = 1, .text = text};
	commands_command(&commands, &m);
	memcpy(text, "two", 3);
	m.u.message.id = 2;
	commands_command(&commands, &m);
	assert_true(readable());
	commands_quiet(&commands);
	assert_false(readable());
	assert_int_equal(commands_next(&commands, &a, &got), 1);
	assert_string_equal(got.u.message.text, "one");
	assert_int_equal(commands_next(&commands, &a, &got), 1);
	assert_string_equal(got.u.message.text, "two");
	assert_int_equal(commands_next(&commands, &a, &got), 0);
	arena_fini(&a);
}

static void nothing_that_waits_is_lost_with_the_run(void **state)
{
	struct msg m = {.type = MSG_TYPE_PAUSE, .u.id = 4};

	(void)state;
	commands_command(&commands, &m); /* and tear_down frees it: see ASan */
}

#define T(name)                                                       \
	cmocka_unit_test_setup_teardown(name, set_up_worker_commands, \
					tear_down_worker_commands)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_first_reason_to_end_stays),
		T(commands_wait_in_order_and_outlive_their_sender),
		T(nothing_that_waits_is_lost_with_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
