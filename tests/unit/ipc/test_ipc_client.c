/* Both ends of the link in one process; a stock nng REQ checks that the bytes
 * are nng's. */
#include "ipc/client.h"
#include "ipc/server.h"
#include "ipc/sp_frame.h"
#include "lib/base/clock.h"
#include "tests/support/temp.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>

/* The threads of the stock nng REQ live on when main returns. */
/* NOLINTNEXTLINE(readability-identifier-naming): the sanitizer's name */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libnng";
}

#define WAIT_MS 30000 /* for what must come */

struct received {
	pthread_mutex_t lock;
	int commands, refused, lost;
	int64_t last;
	char text[64];
};

struct pair {
	struct temp dir;
	struct ipc_server *server;
	struct ipc_client *client;
	struct received received;
	struct arena arena;
	struct ipc_from from;
	struct msg msg;
};

static void on_command(void *arg, const struct msg *m)
{
	struct received *h = arg;

	pthread_mutex_lock(&h->lock);
	h->commands++;
	h->last = m->u.id;
	if (m->type == MSG_TYPE_MESSAGE)
		snprintf(h->text, sizeof h->text, "%s", m->u.message.text);
	pthread_mutex_unlock(&h->lock);
}

static void on_refused(void *arg, const char *why)
{
	struct received *h = arg;

	pthread_mutex_lock(&h->lock);
	h->refused++;
	snprintf(h->text, sizeof h->text, "%s", why);
	pthread_mutex_unlock(&h->lock);
}

static void on_lost(void *arg)
{
	struct received *h = arg;

	pthread_mutex_lock(&h->lock);
	h->lost++;
	pthread_mutex_unlock(&h->lock);
}

static void on_heartbeat(void *arg, struct msg_heartbeat *out)
{
	(void)arg;
	out->phase = "running";
	out->seq = 5;
}

static const char *path(struct pair *p)
{
	return temp_join(&p->dir, "w.sock");
}

static void listen_again(struct pair *p)
{
	struct err e = {0};

	if (ipc_server_open(&p->server, path(p), &e))
		fail_msg("%s", e.text);
}

static struct ipc_client *dial(struct pair *p, int64_t heartbeat_ms)
{
	struct ipc_client_config config = {
		.path = path(p),
		.hello = {.run = "run_1",
			  .attempt = 1,
			  .token = "secret",
			  .pid = getpid(),
			  .started = 1,
			  .build = "test"},
		.heartbeat_ms = heartbeat_ms,
		.lost_after_ms = 100,
		.calls = {&p->received, on_command, on_refused, on_lost,
			  on_heartbeat, NULL},
	};
	struct ipc_client *c;
	struct err e = {0};

	assert_int_equal(ipc_client_open(&c, &config, &e), 0);
	return c;
}

static int set_up_ipc_client(void **state)
{
	struct pair *p = calloc(1, sizeof *p);

	temp_make(&p->dir);
	pthread_mutex_init(&p->received.lock, NULL);
	listen_again(p);
	p->client = dial(p, 60000);
	*state = p;
	return 0;
}

static int tear_down_ipc_client(void **state)
{
	struct pair *p = *state;

	ipc_client_close(p->client);
	ipc_server_close(p->server);
	arena_fini(&p->arena);
	temp_remove(&p->dir);
	free(p);
	return 0;
}

/* The next thing that comes: 1 message, 0 nothing for `ms`, -1 a bad one. */
static int next(struct pair *p, int ms)
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

static void acknowledge(struct pair *p);

/* A sign of life may come between on a machine that is slow. */
static void expect(struct pair *p, enum msg_type type)
{
	assert_int_equal(next(p, WAIT_MS), 1);
	while (p->msg.type == MSG_TYPE_HEARTBEAT && type != p->msg.type) {
		acknowledge(p);
		assert_int_equal(next(p, WAIT_MS), 1);
	}
	assert_string_equal(msg_name(p->msg.type), msg_name(type));
	assert_string_equal(p->msg.u.who.token, "secret");
}

static void answer_client(struct pair *p, struct msg m)
{
	struct err e = {0};

	if (ipc_server_answer(p->server, p->from, &m, &e))
		fail_msg("%s", e.text);
}

static void acknowledge(struct pair *p)
{
	answer_client(
		p, (struct msg){.type = MSG_TYPE_ACK, .u.ack.seq = OPT_NONE});
}

/* hello, accepted; then the request that waits. */
static struct ipc_from welcome_worker(struct pair *p)
{
	expect(p, MSG_TYPE_HELLO);
	answer_client(p, (struct msg){.type = MSG_TYPE_BEGIN,
				      .u.begin.supervisor = "s"});
	expect(p, MSG_TYPE_READY);
	return p->from;
}

static int received(struct pair *p, const int *what, int want)
{
	int got = 0;

	for (int i = 0; i < WAIT_MS && got < want; i++) {
		pthread_mutex_lock(&p->received.lock);
		got = *what;
		pthread_mutex_unlock(&p->received.lock);
		if (got < want)
			usleep(1000);
	}
	return got;
}

static struct msg steer(int64_t id, const char *text)
{
	struct msg m = {.type = MSG_TYPE_MESSAGE};

	m.u.message = (struct msg_message){.id = id, .text = text};
	return m;
}

static void report_seq(struct ipc_client *c, int64_t seq)
{
	struct msg m = {.type = MSG_TYPE_EVENT};
	struct err e = {0};

	m.u.event.seq = seq;
	assert_int_equal(ipc_client_report(c, &m, &e), 0);
}

static void report_applied(struct ipc_client *c, int64_t id)
{
	struct msg m = {.type = MSG_TYPE_APPLIED};
	struct err e = {0};

	m.u.applied.id = id;
	assert_int_equal(ipc_client_report(c, &m, &e), 0);
}

static void a_command_reaches_a_worker_that_waits(void **state)
{
	struct pair *p = *state;

	welcome_worker(p);
	answer_client(p, steer(4, "to you"));
	assert_int_equal(received(p, &p->received.commands, 1), 1);
	assert_string_equal(p->received.text, "to you");
	expect(p, MSG_TYPE_READY);
	assert_int_equal(p->msg.u.ready.last, 4);
}

static void a_command_that_comes_twice_is_taken_once(void **state)
{
	struct pair *p = *state;

	welcome_worker(p);
	answer_client(p, steer(4, "once"));
	expect(p, MSG_TYPE_READY);
	answer_client(p, steer(4, "twice"));
	expect(p, MSG_TYPE_READY);
	assert_int_equal(p->received.commands, 1);
	assert_string_equal(p->received.text, "once");
}

static void a_report_is_flushed_when_it_is_acknowledged(void **state)
{
	struct pair *p = *state;
	struct err e = {0};

	welcome_worker(p);
	report_applied(p->client, 3);
	expect(p, MSG_TYPE_APPLIED);
	assert_int_equal(ipc_client_flush(p->client, 20, &e), -1);
	assert_int_equal(e.code, ERR_TIMEOUT);
	acknowledge(p);
	assert_int_equal(ipc_client_flush(p->client, WAIT_MS, &e), 0);
}

static void hints_that_nobody_takes_become_one(void **state)
{
	struct pair *p = *state;
	struct err e = {0};
	int n = 0;

	welcome_worker(p);
	for (int64_t seq = 1; seq <= 1000; seq++)
		report_seq(p->client, seq);
	do {
		expect(p, MSG_TYPE_EVENT);
		acknowledge(p);
		n++;
	} while (p->msg.u.event.seq < 1000);
	assert_in_range(n, 1, 2);
	assert_int_equal(ipc_client_flush(p->client, WAIT_MS, &e), 0);
}

static void reports_arrive_in_the_order_in_which_they_were_given(void **state)
{
	struct pair *p = *state;

	welcome_worker(p);
	report_seq(p->client, 1);
	expect(p, MSG_TYPE_EVENT);
	report_seq(p->client, 2);
	report_applied(p->client, 3);
	acknowledge(p);
	expect(p, MSG_TYPE_EVENT);
	assert_int_equal(p->msg.u.event.seq, 2);
	acknowledge(p);
	expect(p, MSG_TYPE_APPLIED);
}

static void after_a_restart_the_worker_says_hello_and_repeats_itself(
	void **state)
{
	struct pair *p = *state;
	struct err e = {0};

	welcome_worker(p);
	answer_client(p, steer(9, "before"));
	expect(p, MSG_TYPE_READY);
	report_applied(p->client, 9);
	expect(p, MSG_TYPE_APPLIED); /* and never answered */
	ipc_server_close(p->server);
	assert_int_equal(received(p, &p->received.lost, 1), 1);
	assert_false(ipc_client_connected(p->client));
	listen_again(p);
	welcome_worker(p);
	assert_int_equal(p->msg.u.ready.last, 9);
	expect(p, MSG_TYPE_APPLIED);
	assert_int_equal(p->msg.u.applied.id, 9);
	acknowledge(p);
	expect(p, MSG_TYPE_HEARTBEAT); /* how far it is, at once */
	acknowledge(p);
	assert_int_equal(ipc_client_flush(p->client, WAIT_MS, &e), 0);
	assert_true(ipc_client_connected(p->client));
}

static void a_worker_that_is_refused_is_told_and_leaves(void **state)
{
	struct pair *p = *state;

	expect(p, MSG_TYPE_HELLO);
	answer_client(p, (struct msg){.type = MSG_TYPE_REFUSE,
				      .u.refuse.why = "stale"});
	assert_int_equal(received(p, &p->received.refused, 1), 1);
	assert_string_equal(p->received.text, "stale");
	assert_int_equal(next(p, 100), 0);
}

static void a_quiet_worker_gives_a_sign_of_life(void **state)
{
	struct pair *p = *state;

	welcome_worker(p);
	ipc_client_close(p->client);
	p->client = dial(p, 30);
	welcome_worker(p);
	expect(p, MSG_TYPE_HEARTBEAT);
	assert_int_equal(p->msg.u.heartbeat.seq, 5);
	acknowledge(p);
	expect(p, MSG_TYPE_HEARTBEAT);
}

static void a_heartbeat_that_is_asked_for_does_not_wait(void **state)
{
	struct pair *p = *state;

	welcome_worker(p);
	ipc_client_heartbeat_in(p->client, 1);
	expect(p, MSG_TYPE_HEARTBEAT);
	acknowledge(p);
	assert_int_equal(next(p, 50), 0); /* it is sent once */
}

static void the_kernel_says_who_the_peer_is(void **state)
{
	struct pair *p = *state;
	struct ipc_peer peer;

	welcome_worker(p);
	assert_int_equal(ipc_server_peer(p->server, p->from, &peer), 0);
	assert_int_equal(peer.pid, getpid());
	assert_int_equal(peer.uid, getuid());
	ipc_server_drop(p->server, p->from);
	expect(p, MSG_TYPE_HELLO); /* it dials again */
}

static int raw_socket(struct pair *p, int flags, bool *connected)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s", path(p));
	*connected = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
	return fd;
}

static int raw_dial(struct pair *p)
{
	bool connected;
	int fd = raw_socket(p, 0, &connected);

	assert_true(connected);
	return fd;
}

static void send_bytes(int fd, const void *bytes, size_t n)
{
	(void)send(fd, bytes, n, MSG_NOSIGNAL);
}

static void garbage_is_reported_and_hurts_nobody(void **state)
{
	struct pair *p = *state;
	struct buf b = BUF_MAX(4096);
	unsigned char greeting[SP_GREETING];
	int fd;

	welcome_worker(p);
	fd = raw_dial(p);
	buf_add(&b, sp_req, SP_GREETING);
	sp_put(&b, 1, "not json", 8);
	send_bytes(fd, b.p, b.n);
	assert_int_equal(next(p, WAIT_MS), -1);
	ipc_server_drop(p->server, p->from);
	assert_int_equal(recv(fd, greeting, sizeof greeting, MSG_WAITALL),
			 SP_GREETING);
	assert_int_equal(recv(fd, greeting, 1, 0), 0); /* hung up */
	close(fd);
	fd = raw_dial(p); /* promises more than anybody may send */
	buf_clear(&b);
	buf_add(&b, sp_req, SP_GREETING);
	buf_add(&b, "\1\x7f\xff\xff\xff\xff\xff\xff\xff", 9);
	send_bytes(fd, b.p, b.n);
	close(fd);
	buf_fini(&b);
	report_applied(p->client, 1);
	expect(p, MSG_TYPE_APPLIED);
}

static void a_worker_that_floods_delays_only_itself(void **state)
{
	struct pair *p = *state;
	struct buf b = BUF_MAX(1 << 20);
	int fd, before = 0;

	welcome_worker(p);
	fd = raw_dial(p);
	send_bytes(fd, sp_req, SP_GREETING);
	for (int i = 0; i < 400; i++)
		sp_put(&b, (uint32_t)i + 1, "{\"type\":\"flood\"}", 16);
	(void)send(fd, b.p, b.n, MSG_NOSIGNAL | MSG_DONTWAIT);
	assert_int_equal(next(p, WAIT_MS), -1);
	report_applied(p->client, 1);
	usleep(20000);
	while (next(p, WAIT_MS) == -1)
		before++;
	assert_int_equal(p->msg.type, MSG_TYPE_APPLIED);
	assert_in_range(before, 0, 300);
	close(fd);
	buf_fini(&b);
}

static void a_stock_nng_req_is_served_as_well(void **state)
{
	static const char ready[] = "{\"type\":\"ready\",\"run\":\"r\","
				    "\"attempt\":1,\"token\":\"secret\","
				    "\"last\":0}";
	struct pair *p = *state;
	nng_socket s;
	char url[200];
	char *got;
	size_t n;
	int rc;

	welcome_worker(p);
	snprintf(url, sizeof url, "ipc://%s", path(p));
	assert_int_equal(nng_req0_open(&s), 0);
	assert_int_equal(nng_dial(s, url, NULL, NNG_FLAG_NONBLOCK), 0);
	/* EAGAIN until the server, which is this thread, has greeted it. */
	while ((rc = nng_send(s, (void *)(uintptr_t)ready, strlen(ready),
			      NNG_FLAG_NONBLOCK)) == NNG_EAGAIN)
		assert_int_equal(next(p, 10), 0);
	assert_int_equal(rc, 0);
	expect(p, MSG_TYPE_READY);
	answer_client(p, (struct msg){.type = MSG_TYPE_PAUSE, .u.id = 1});
	assert_int_equal(nng_recv(s, &got, &n, NNG_FLAG_ALLOC), 0);
	assert_int_equal(n, strlen("{\"type\":\"pause\",\"id\":1}"));
	nng_free(got, n);
	nng_close(s);
}

static void a_place_that_cannot_be_listened_on_says_why(void **state)
{
	struct pair *p = *state;
	struct ipc_server *other;
	struct err e = {0};
	char far[300];

	assert_int_equal(ipc_server_open(&other, path(p), &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
	memset(far, 'x', sizeof far - 1);
	far[0] = '/';
	far[sizeof far - 1] = '\0';
	assert_int_equal(ipc_server_open(&other, far, &e), -1);
	assert_int_equal(e.code, ERR_CONFIG);
	assert_non_null(strstr(e.text, "shorter home"));
	assert_int_equal(ipc_server_open(&other, "/no/such/place/s", &e), -1);
}

#define T(name)                                                  \
	cmocka_unit_test_setup_teardown(name, set_up_ipc_client, \
					tear_down_ipc_client)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_command_reaches_a_worker_that_waits),
		T(a_command_that_comes_twice_is_taken_once),
		T(a_report_is_flushed_when_it_is_acknowledged),
		T(hints_that_nobody_takes_become_one),
		T(reports_arrive_in_the_order_in_which_they_were_given),
		T(after_a_restart_the_worker_says_hello_and_repeats_itself),
		T(a_worker_that_is_refused_is_told_and_leaves),
		T(a_quiet_worker_gives_a_sign_of_life),
		T(a_heartbeat_that_is_asked_for_does_not_wait),
		T(the_kernel_says_who_the_peer_is),
		T(garbage_is_reported_and_hurts_nobody),
		T(a_worker_that_floods_delays_only_itself),
		T(a_stock_nng_req_is_served_as_well),
		T(a_place_that_cannot_be_listened_on_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
