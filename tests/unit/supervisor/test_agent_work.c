/* Work that waits for one agent's file: supervisor/core/agent_work.h. */
#include "supervisor/core/agent_work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MANY 20

static uv_loop_t loop;
static struct agent_threads *threads;
static uv_sem_t locked;
static atomic_int at_work, most_at_work;
static int done_count;

static void wait_for_lock(struct agent_work *w)
{
	(void)w;
	uv_sem_wait(&locked);
}

static void count_at_work(struct agent_work *w)
{
	int n = atomic_fetch_add(&at_work, 1) + 1;

	(void)w;
	if (n > atomic_load(&most_at_work))
		atomic_store(&most_at_work, n);
	uv_sleep(1);
	atomic_fetch_sub(&at_work, 1);
}

static void do_nothing(struct agent_work *w)
{
	(void)w;
}

static void count_done(struct agent_work *w)
{
	int *order = w->data;

	done_count++;
	if (order)
		*order = done_count;
}

static void submit(struct agent_work *w, const char *agent,
		   void (*in_thread)(struct agent_work *w), int *order)
{
	*w = (struct agent_work){.agent = agent,
				 .data = order,
				 .in_thread = in_thread,
				 .done = count_done};
	agent_work_submit(threads, w);
}

static int set_up(void **state)
{
	(void)state;
	uv_loop_init(&loop);
	uv_sem_init(&locked, 0);
	threads = agent_threads_new(&loop);
	done_count = 0;
	atomic_store(&most_at_work, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	agent_threads_close(threads);
	uv_run(&loop, UV_RUN_DEFAULT);
	agent_threads_free(threads);
	uv_sem_destroy(&locked);
	return uv_loop_close(&loop);
}

static void one_agent_occupies_one_thread(void **state)
{
	struct agent_work waiting[MANY], other;
	int order = 0;

	(void)state;
	for (int i = 0; i < MANY; i++)
		submit(&waiting[i], "a", wait_for_lock, NULL);
	submit(&other, "b", do_nothing, &order);
	while (!order)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(order, 1);
	for (int i = 0; i < MANY; i++)
		uv_sem_post(&locked);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(done_count, MANY + 1);
}

static void work_of_one_agent_is_done_in_order_and_alone(void **state)
{
	struct agent_work work[MANY];
	int order[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++)
		submit(&work[i], "a", count_at_work, &order[i]);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(atomic_load(&most_at_work), 1);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(order[i], i + 1);
}

static void on_tick(uv_timer_t *t)
{
	(void)t;
	agent_threads_tick(threads);
}

static void many_that_wait_get_more_threads(void **state)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
	struct agent_work waiting[6], other;
	uv_timer_t tick;
	int order = 0;

	(void)state;
	uv_timer_init(&loop, &tick);
	uv_timer_start(&tick, on_tick, 1, 1);
	for (int i = 0; i < 6; i++)
		submit(&waiting[i], names[i], wait_for_lock, NULL);
	submit(&other, "other", do_nothing, &order);
	while (!order)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(done_count, 1);
	uv_close((uv_handle_t *)&tick, NULL);
	for (int i = 0; i < 6; i++)
		uv_sem_post(&locked);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(done_count, 7);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_agent_occupies_one_thread),
		T(work_of_one_agent_is_done_in_order_and_alone),
		T(many_that_wait_get_more_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
