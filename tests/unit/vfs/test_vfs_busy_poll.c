/* When the server of a mount stays awake for the next request. */
#include "lib/base/clock.h"
#include "vfs/fuse/busy_poll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static int ends[2];

static int set_up_vfs_busy_poll(void **state)
{
	(void)state;
	return pipe(ends);
}

static int tear_down_vfs_busy_poll(void **state)
{
	(void)state;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

/* Requests that came soon, whatever the machine does meanwhile. */
static void meet(struct busy_poll *p, int times)
{
	for (int i = 0; i < times; i++) {
		p->since = INT64_MAX;
		busy_poll_hit(p);
	}
}

static void put_request(void)
{
	assert_int_equal(write(ends[1], "x", 1), 1);
}

static void nobody_is_waited_for_who_did_not_come_quickly_before(void **state)
{
	struct busy_poll p = {0};

	(void)state;
	put_request();
	assert_false(busy_poll_ready(&p, ends[0]));
	meet(&p, 3);
	assert_false(busy_poll_ready(&p, ends[0]));
	p.since = clock_mono_ns() - INT64_C(1000000000);
	busy_poll_hit(&p); /* that one was slow: it starts again */
	meet(&p, 3);
	assert_false(busy_poll_ready(&p, ends[0]));
}

static void a_request_after_quick_ones_is_seen_without_sleep(void **state)
{
	struct busy_poll p = {0};

	(void)state;
	meet(&p, 4);
	put_request();
	assert_true(busy_poll_ready(&p, ends[0]));
}

static void where_none_comes_it_is_not_tried_again_at_once(void **state)
{
	struct busy_poll p = {0};

	(void)state;
	meet(&p, 100);
	assert_false(busy_poll_ready(&p, ends[0]));
	put_request();
	assert_false(busy_poll_ready(&p, ends[0]));
}

static void a_break_ends_after_some_requests(void **state)
{
	struct busy_poll p = {.quick = -64};

	(void)state;
	put_request();
	meet(&p, 64 + 3);
	assert_false(busy_poll_ready(&p, ends[0]));
	meet(&p, 1);
	assert_true(busy_poll_ready(&p, ends[0]));
}

#define T(name)                                                     \
	cmocka_unit_test_setup_teardown(name, set_up_vfs_busy_poll, \
					tear_down_vfs_busy_poll)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nobody_is_waited_for_who_did_not_come_quickly_before),
		T(a_request_after_quick_ones_is_seen_without_sleep),
		T(where_none_comes_it_is_not_tried_again_at_once),
		T(a_break_ends_after_some_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
