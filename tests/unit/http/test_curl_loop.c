/* libcurl in its thread: what is started ends once, whatever happens meanwhile. */
#include "lib/http/curl_loop.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY  200
#define CONNS 512

/* --- a server: answers all but those who ask for /stall ----------------- */

static struct {
	struct pollfd fds[CONNS]; /* the first one listens */
	int n;
	int port;
	pthread_t thread;
	_Atomic bool stop;
	_Atomic int asked;
} server;

static bool answer_request(int fd)
{
	static const char ok[] =
		"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
	char text[4096];
	ssize_t n = recv(fd, text, sizeof text - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	server.asked++;
	return strstr(text, "/stall") ||
	       send(fd, ok, sizeof ok - 1, MSG_NOSIGNAL) > 0;
}

static void *serve_peers(void *arg)
{
	struct pollfd *fds = server.fds;

	while (!server.stop) {
		poll(fds, (nfds_t)server.n, 20);
		for (int i = server.n - 1; i > 0; i--) {
			if (!fds[i].revents || answer_request(fds[i].fd))
				continue;
			close(fds[i].fd);
			fds[i] = fds[--server.n];
		}
		if (fds[0].revents && server.n < CONNS)
			fds[server.n++] = (struct pollfd){
				.fd = accept(fds[0].fd, NULL, NULL),
				.events = POLLIN};
	}
	while (server.n > 0)
		close(fds[--server.n].fd);
	return arg;
}

static int set_up_curl_loop(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, CONNS) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		return -1;
	server.port = ntohs(at.sin_port);
	server.fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	server.n = 1;
	server.stop = false;
	server.asked = 0;
	return pthread_create(&server.thread, NULL, serve_peers, NULL);
}

static int tear_down_curl_loop(void **state)
{
	(void)state;
	server.stop = true;
	return pthread_join(server.thread, NULL);
}

/* --- transfers -------------------------------------------------------- */

struct item {
	struct transfer transfer; /* first: it is found by it */
	int times;                /* that it was done */
	CURLcode code;
};

static int over; /* all that are done */

static size_t ignore(char *bytes, size_t size, size_t n, void *arg)
{
	(void)bytes;
	(void)arg;
	return size * n;
}

static void on_done(struct transfer *t, CURLcode code)
{
	struct item *i = (struct item *)t;

	i->times++;
	i->code = code;
	over++;
}

static void prepare_item(struct item *i, const char *path)
{
	char url[64];
	CURL *easy = curl_easy_init();

	snprintf(url, sizeof url, "http://127.0.0.1:%d%s", server.port, path);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 60000L);
	*i = (struct item){.transfer = {.easy = easy, .done = on_done}};
}

static void start_item(struct curl_loop *c, struct item *i, const char *path)
{
	struct err e = {0};

	prepare_item(i, path);
	assert_int_equal(curl_loop_start(c, &i->transfer, &e), 0);
}

static void until_over(uv_loop_t *loop, int n)
{
	while (over < n)
		uv_run(loop, UV_RUN_ONCE);
}

static void finish_items(uv_loop_t *loop, struct item *items, int n)
{
	uv_run(loop, UV_RUN_DEFAULT); /* until it has let go */
	assert_int_equal(uv_loop_close(loop), 0);
	for (int i = 0; i < n; i++) {
		assert_int_equal(items[i].times, 1);
		curl_easy_cleanup(items[i].transfer.easy);
	}
}

/* --- tests ------------------------------------------------------------ */

static struct item items[MANY];

static void many_transfers_end_once_each(void **state)
{
	struct curl_loop *c;
	uv_loop_t loop;

	(void)state;
	over = 0;
	uv_loop_init(&loop);
	c = curl_loop_new(&loop);
	for (int i = 0; i < MANY; i++)
		start_item(c, &items[i], "/");
	until_over(&loop, MANY);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(items[i].code, CURLE_OK);
	curl_loop_close(c);
	finish_items(&loop, items, MANY);
}

/* Some before they begin, some while they wait, some when they are over. */
static void what_is_dropped_ends_soon(void **state)
{
	struct curl_loop *c;
	uv_loop_t loop;

	(void)state;
	over = 0;
	uv_loop_init(&loop);
	c = curl_loop_new(&loop);
	for (int i = 0; i < MANY; i++) {
		prepare_item(&items[i], i % 2 ? "/stall" : "/");
		items[i].transfer.alone = i % 4 == 1;
		assert_int_equal(curl_loop_start(c, &items[i].transfer,
						 &(struct err){0}),
				 0);
		if (i % 10 == 1)
			curl_loop_drop(c, &items[i].transfer);
	}
	while (server.asked < MANY / 2)
		uv_run(&loop, UV_RUN_NOWAIT);
	for (int i = 0; i < MANY; i++)
		if (items[i].times == 0)
			curl_loop_drop(c, &items[i].transfer);
	until_over(&loop, MANY);
	for (int i = 0; i < MANY; i++)
		assert_true(items[i].code == CURLE_ABORTED_BY_CALLBACK ||
			    (i % 2 == 0 && items[i].code == CURLE_OK));
	curl_loop_close(c);
	finish_items(&loop, items, MANY);
}

static void a_close_ends_what_is_under_way(void **state)
{
	struct curl_loop *c;
	uv_loop_t loop;

	(void)state;
	over = 0;
	uv_loop_init(&loop);
	c = curl_loop_new(&loop);
	for (int i = 0; i < MANY; i++)
		start_item(c, &items[i], i % 2 ? "/stall" : "/");
	while (server.asked < MANY / 4)
		uv_run(&loop, UV_RUN_NOWAIT);
	curl_loop_close(c);
	assert_int_equal(over, MANY);
	finish_items(&loop, items, MANY);
}

/* A thread's stack is as large as that of the process may be. */
static bool threads_fail(bool yes)
{
	static struct rlimit kept;
	struct rlimit large;

	if (!yes)
		return setrlimit(RLIMIT_STACK, &kept) == 0;
	if (getrlimit(RLIMIT_STACK, &kept))
		return false;
	large = kept;
	large.rlim_cur = (rlim_t)1 << 50;
	return kept.rlim_max >= large.rlim_cur &&
	       setrlimit(RLIMIT_STACK, &large) == 0;
}

static void without_a_thread_it_is_tried_again(void **state)
{
	struct curl_loop *c, *never;
	struct err e = {0};
	uv_loop_t loop;

	(void)state;
	over = 0;
	uv_loop_init(&loop);
	c = curl_loop_new(&loop);
	never = curl_loop_new(&loop);
	prepare_item(&items[0], "/");
	if (!threads_fail(true))
		skip();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(curl_loop_start(c, &items[0].transfer, &e),
				 -1);
		assert_int_equal(curl_loop_start(never, &items[0].transfer, &e),
				 -1);
	}
	assert_true(threads_fail(false));
	assert_int_equal(curl_loop_start(c, &items[0].transfer, &e), 0);
	until_over(&loop, 1);
	assert_int_equal(items[0].code, CURLE_OK);
	curl_loop_close(c);
	curl_loop_close(never);
	finish_items(&loop, items, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(many_transfers_end_once_each,
						set_up_curl_loop,
						tear_down_curl_loop),
		cmocka_unit_test_setup_teardown(what_is_dropped_ends_soon,
						set_up_curl_loop,
						tear_down_curl_loop),
		cmocka_unit_test_setup_teardown(a_close_ends_what_is_under_way,
						set_up_curl_loop,
						tear_down_curl_loop),
		cmocka_unit_test_setup_teardown(
			without_a_thread_it_is_tried_again, set_up_curl_loop,
			tear_down_curl_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
