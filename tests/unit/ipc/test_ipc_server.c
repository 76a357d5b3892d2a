/* The supervisor's end of the link against peers that are no workers. */
#include "ipc/server.h"
#include "ipc/sp_frame.h"
#include "lib/base/clock.h"
#include "tests/support/temp.h"

#include <dirent.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 30000 /* for what must come */

struct place {
	struct temp dir;
	struct ipc_server *server;
	struct arena arena;
	struct ipc_from from;
	struct msg msg;
};

static const char *path(struct place *p)
{
	return temp_join(&p->dir, "w.sock");
}

static int set_up_ipc_server(void **state)
{
	struct place *p = calloc(1, sizeof *p);
	struct err e = {0};

	temp_make(&p->dir);
	if (ipc_server_open(&p->server, path(p), &e))
		fail_msg("%s", e.text);
	*state = p;
	return 0;
}

static int tear_down_ipc_server(void **state)
{
	struct place *p = *state;

	ipc_server_close(p->server);
	arena_fini(&p->arena);
	temp_remove(&p->dir);
	free(p);
	return 0;
}

/* The next message: 1, 0 nothing for `ms`, -1 a bad one. */
static int next(struct place *p, int ms)
{
	int64_t until = clock_mono_ns() + (int64_t)ms * 1000000;
	struct err e;
	int rc;

	while ((rc = ipc_server_receive(p->server, &p->arena, &p->from, &p->msg,
					&e)) == 0 &&
	       clock_mono_ns() < until) {
		struct pollfd f = {ipc_server_fd(p->server), POLLIN, 0};

		poll(&f, 1, 10);
	}
	return rc;
}

static int raw_dial(struct place *p)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path(p));
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

static void send_bytes(int fd, const void *bytes, size_t n)
{
	(void)send(fd, bytes, n, MSG_NOSIGNAL);
}

/* A new connection's message arrives: 1. */
static int serves(struct place *p)
{
	static const char ready[] = "{\"type\":\"ready\",\"run\":\"r\","
				    "\"attempt\":1,\"token\":\"secret\","
				    "\"last\":0}";
	struct buf b = BUF_MAX(4096);
	int fd = raw_dial(p), rc;

	buf_add(&b, sp_req, SP_GREETING);
	sp_put(&b, 1, ready, strlen(ready));
	send_bytes(fd, b.p, b.n);
	rc = next(p, WAIT_MS);
	close(fd);
	buf_fini(&b);
	return rc;
}

static int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* A peer that sends the first n bytes and goes, now or after its greeting was
 * answered. */
static void send_and_die(struct place *p, const struct buf *b, size_t n,
			 int how)
{
	unsigned char greeting[SP_GREETING];
	int fd = raw_dial(p);

	send_bytes(fd, b->p, n);
	if (how == 1) {
		(void)next(p, 0);
		(void)recv(fd, greeting, sizeof greeting, MSG_DONTWAIT);
	}
	if (how == 2)
		shutdown(fd, SHUT_WR);
	close(fd);
	(void)next(p, 0);
}

static void peers_that_die_in_a_frame_leave_no_descriptor(void **state)
{
	struct place *p = *state;
	struct buf b = BUF_MAX(4096);
	int before;

	buf_add(&b, sp_req, SP_GREETING);
	sp_put(&b, 1, "{\"type\":\"flood\"}", 16);
	sp_put(&b, 2, "{\"type\":\"flood\"}", 16);
	before = open_descriptors();
	for (size_t n = 0; n <= b.n; n++)
		for (int how = 0; how < 3; how++)
			send_and_die(p, &b, n, how);
	while (next(p, 50))
		;
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(serves(p), 1);
	buf_fini(&b);
}

static void a_removed_socket_is_made_again(void **state)
{
	struct place *p = *state;
	struct err e = {0};

	assert_int_equal(ipc_server_check(p->server, &e), 0);
	assert_int_equal(unlink(path(p)), 0);
	assert_int_equal(ipc_server_check(p->server, &e), 1);
	assert_int_equal(ipc_server_check(p->server, &e), 0);
	assert_int_equal(serves(p), 1);
}

/* Answers until the server's limit for unread bytes is reached. */
static int answer_until_refused(struct place *p, struct ipc_from to)
{
	static char text[60000];
	struct err e = {0};
	int n = 0;

	memset(text, 'x', sizeof text - 1);
	for (; n < 100000; n++) {
		struct msg m = {.type = MSG_TYPE_MESSAGE};

		m.u.message = (struct msg_message){.id = n + 1, .text = text};
		if (ipc_server_answer(p->server, to, &m, &e))
			break;
	}
	assert_int_equal(e.code, ERR_BUSY);
	return n;
}

static void a_peer_that_never_reads_is_dropped(void **state)
{
	struct place *p = *state;
	struct buf b = BUF_MAX(4096);
	struct err e = {0};
	int fd, before;

	before = open_descriptors();
	fd = raw_dial(p);
	buf_add(&b, sp_req, SP_GREETING);
	sp_put(&b, 1, "{\"type\":\"flood\"}", 16);
	send_bytes(fd, b.p, b.n);
	assert_int_equal(next(p, WAIT_MS), -1);
	assert_in_range(answer_until_refused(p, p->from), 10, 99999);
	close(fd);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(ipc_server_answer(p->server, p->from,
					   &(struct msg){.type = MSG_TYPE_ACK},
					   &e),
			 0); /* it is gone: no failure */
	buf_fini(&b);
}

/* It dies after its message was read, and before the server notices. */
static void an_answer_to_a_dead_peer_is_no_failure(void **state)
{
	struct place *p = *state;
	struct buf b = BUF_MAX(4096);
	struct err e = {0};
	int fd = raw_dial(p);

	buf_add(&b, sp_req, SP_GREETING);
	sp_put(&b, 1, "{\"type\":\"flood\"}", 16);
	send_bytes(fd, b.p, b.n);
	assert_int_equal(next(p, WAIT_MS), -1);
	close(fd);
	if (ipc_server_answer(p->server, p->from,
			      &(struct msg){.type = MSG_TYPE_ACK}, &e))
		fail_msg("%s", e.text);
	buf_fini(&b);
}

static void closing_waits_for_nobody(void **state)
{
	struct place *p = *state;
	struct buf b = BUF_MAX(1 << 20);
	int fds[10];

	buf_add(&b, sp_req, SP_GREETING);
	for (uint32_t i = 1; i < 400; i++)
		sp_put(&b, i, "{}", 2);
	for (int i = 0; i < 10; i++) {
		fds[i] = raw_dial(p);
		(void)send(fds[i], b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	usleep(20000);
	ipc_server_close(p->server); /* or the test's time limit ends it */
	p->server = NULL;
	for (int i = 0; i < 10; i++)
		close(fds[i]);
	buf_fini(&b);
}

#define T(name)                                                  \
	cmocka_unit_test_setup_teardown(name, set_up_ipc_server, \
					tear_down_ipc_server)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(peers_that_die_in_a_frame_leave_no_descriptor),
		T(a_removed_socket_is_made_again),
		T(a_peer_that_never_reads_is_dropped),
		T(an_answer_to_a_dead_peer_is_no_failure),
		T(closing_waits_for_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
