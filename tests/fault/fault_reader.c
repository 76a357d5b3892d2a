/*
 * Readers follow a session while one process commits transactions of all sizes
 * and another opens and closes the file again and again, so that its log is
 * made, recovered and removed in between. No read may fail: a reader once ended
 * with "tail_positions: disk I/O error", because a commit was published before its
 * last frame was in the log.
 */
#include "tests/support/agent.h"
#include "tests/support/temp.h"

#include "schema/agent/transcript/tail.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE   4000 /* of a body that fills about one frame */
#define ROUNDS 3

static struct temp dir;
static const int sizes[] = {1,   2,   30,  60,  61,  62,  63,  64,
			    65,  66,  90,  123, 124, 125, 126, 127,
			    128, 129, 186, 187, 188, 189, 190};

static const char *path(void)
{
	return temp_join(&dir, "agent.sqlite");
}

/* An event with a part, of so many frames. */
static int write_one(struct writer *w, int frames, struct err *e)
{
	size_t n = (size_t)frames * PAGE;
	char *body = malloc(n + 32);
	struct event_new ev = {
		.type = "message", .body = body, .parent = WRITER_LEAF};
	struct event_ref ref;
	int rc;

	if (!body)
		abort();
	memset(body, 'x', n + 32);
	memcpy(body, "{\"content\":\"", 12);
	memcpy(body + n, "\"}", 3);
	rc = writer_stream(w, &ev, 1, &ref, e);
	free(body);
	return rc;
}

static void be_the_writer(void)
{
	struct agent_file f;
	struct writer w;
	struct err e;

	for (int round = 0; round < ROUNDS; round++) {
		if (agent_file_open(&f, path(), NULL, 0, &e) ||
		    writer_open(&w, &f, "s", NULL, &e))
			_exit(1);
		for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
			if (write_one(&w, sizes[i], &e))
				_exit(2);
		agent_file_close(&f);
	}
	_exit(0);
}

/* Until it is killed, or the test has ended without that. */
static void be_the_opener(pid_t test)
{
	struct agent_file f;
	struct err e;

	while (getppid() == test) {
		if (agent_file_open(&f, path(), NULL, 0, &e))
			_exit(3);
		agent_file_close(&f);
	}
	_exit(0);
}

static int count_item(void *arg, const struct tail *t,
		      const struct tail_item *item)
{
	(void)t;
	*(int *)arg += item->event != NULL;
	return 0;
}

/* Everything since the last read; half of the time after opening again. */
static void read_on(struct tail *t, struct agent_file *f, int *seen, int turn)
{
	struct err e = {0};
	int more;

	if (turn % 2 == 0) {
		agent_file_close(f);
		if (agent_file_open(f, path(), NULL, SQL_READONLY, &e))
			fail_msg("open: %s", e.text);
	}
	do {
		more = tail_read(t, f, count_item, seen, &e);
		if (more < 0)
			fail_msg("%s", e.text);
	} while (more > 0);
}

static void a_reader_never_fails_beside_writers(void **state)
{
	int expected = ROUNDS * (int)(sizeof sizes / sizeof sizes[0]);
	struct tail_options want = {.session = "s"};
	struct agent_file f;
	struct writer w;
	struct tail *t;
	struct err e;
	int seen = 0, status = -1, turn = 0;
	pid_t writer, opener, test = getpid();

	(void)state;
	temp_make(&dir);
	test_agent_open(&f, path());
	test_writer_open(&w, &f, "s");
	agent_file_close(&f);
	writer = fork(); /* while SQLite has nothing open */
	if (writer == 0)
		be_the_writer();
	opener = fork();
	if (opener == 0)
		be_the_opener(test);
	assert_int_equal(agent_file_open(&f, path(), NULL, SQL_READONLY, &e),
			 0);
	assert_int_equal(tail_open(&t, &want, &e), 0);
	while (waitpid(writer, &status, WNOHANG) == 0)
		read_on(t, &f, &seen, turn++);
	read_on(t, &f, &seen, 0);
	kill(opener, SIGKILL);
	assert_int_equal(waitpid(opener, NULL, 0), opener);
	assert_int_equal(status, 0);
	assert_int_equal(seen, expected);
	tail_close(t);
	agent_file_close(&f);
	test_agent_open(&f, path());
	test_integrity(&f);
	agent_file_close(&f);
	temp_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_never_fails_beside_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
