#include "bench/load/sse_load.h"

#include "bench/load/test_daemon.h"
#include "lib/base/clock.h"
#include "lib/json/json_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WARM_NS(n) (INT64_C(1500000000) + (n)*INT64_C(1000000))
#define ASK_NS     (INT64_C(20) * 1000000) /* between two plain requests */

/* The bytes that a follower has read; the text of an event may be cut at the
 * end of the buffer. */
struct reader {
	int fd;
	int64_t last; /* seq */
	int64_t lost;
	char rest[512];
	size_t nrest;
};

struct sse_load {
	struct test_daemon daemon;
	struct reader *readers;
	int n, reading;
	int poll;
	int requests;     /* a connection for plain requests, or -1 */
	int64_t asked_at; /* 0: it was answered */
	int64_t ask_next;
	struct histogram *delivery;
	struct histogram answers;
	int64_t events;
	bool counts; /* after the warm-up */
};

static int64_t number_after(const char *p, size_t n, const char *name)
{
	const char *at = memmem(p, n, name, strlen(name));

	return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

/* One line of the stream: only data lines of notes matter. */
static void take_line(struct sse_load *f, struct reader *r, const char *p,
		      size_t n)
{
	int64_t seq, at;

	if (n < 20 || memcmp(p, "data: {\"seq\":", 13) != 0 ||
	    !memmem(p, n, "\"type\":\"note\"", 13))
		return;
	seq = number_after(p, n, "\"seq\":");
	at = number_after(p, n, "\"at\":");
	if (r->last && seq != r->last + 1)
		r->lost++;
	r->last = seq;
	if (!f->counts)
		return;
	f->events++;
	histogram_add(f->delivery, (clock_now() - at) * 1000000);
}

static void read_lines(struct sse_load *f, struct reader *r, char *p, size_t n)
{
	char *end = p + n;

	while (p < end) {
		char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((eol ? eol : end) - p);

		if (r->nrest + len > sizeof r->rest)
			len = sizeof r->rest - r->nrest; /* not one of ours */
		if (r->nrest || !eol) {
			memcpy(r->rest + r->nrest, p, len);
			r->nrest += len;
		}
		if (eol) {
			if (r->nrest)
				take_line(f, r, r->rest, r->nrest);
			else
				take_line(f, r, p, len);
			r->nrest = 0;
		}
		p = eol ? eol + 1 : end;
	}
}

static int send_requests(struct sse_load *f)
{
	f->asked_at = clock_mono_ns();
	return test_daemon_send(
		f->requests,
		"GET /v1/runs?limit=10 HTTP/1.1\r\nHost: x\r\n\r\n");
}

static int on_readable(struct sse_load *f, struct reader *r, struct err *e)
{
	static char buf[1 << 16];
	ssize_t n = recv(r ? r->fd : f->requests, buf, sizeof buf,
			 MSG_DONTWAIT);

	if (n <= 0 && errno != EAGAIN)
		return err_set(e, ERR_IO, "a connection broke");
	if (n > 0 && r)
		read_lines(f, r, buf, (size_t)n);
	else if (n > 0 && memmem(buf, (size_t)n, "\"next\":", 7)) {
		if (f->counts)
			histogram_add(&f->answers,
				      clock_mono_ns() - f->asked_at);
		f->asked_at = 0;
		f->ask_next = clock_mono_ns() + ASK_NS;
	}
	return 0;
}

static int pump(struct sse_load *f, int64_t until, struct bench_run *r,
		struct err *e)
{
	struct epoll_event ev[256];

	while (clock_mono_ns() < until && !bench_stopped(r)) {
		int n = epoll_wait(f->poll, ev, 256, 5);

		if (!f->asked_at && clock_mono_ns() > f->ask_next &&
		    send_requests(f))
			return err_errno_set(e, "asking");
		for (int i = 0; i < n; i++)
			if (on_readable(f, ev[i].data.ptr, e))
				return -1;
	}
	return 0;
}

static int watch_fd(struct sse_load *f, int fd, void *ptr)
{
	struct epoll_event ev = {.events = EPOLLIN, .data = {.ptr = ptr}};

	return epoll_ctl(f->poll, EPOLL_CTL_ADD, fd, &ev);
}

static int connect_all(struct sse_load *f, const char *run,
		       const struct sse_load_options *l, struct err *e)
{
	char request[256];

	snprintf(request, sizeof request,
		 "GET /v1/runs/%s/events HTTP/1.1\r\nHost: x\r\n"
		 "Accept: text/event-stream\r\n\r\n",
		 run);
	for (f->n = 0; f->n < l->followers; f->n++) {
		struct reader *r = &f->readers[f->n];

		r->fd = test_daemon_dial(&f->daemon);
		if (r->fd < 0 || test_daemon_send(r->fd, request))
			return err_errno_set(e, "follower %d", f->n);
		if (f->n >= l->slow && watch_fd(f, r->fd, r))
			return err_errno_set(e, "epoll");
	}
	f->requests = test_daemon_dial(&f->daemon);
	if (f->requests < 0 || watch_fd(f, f->requests, NULL) ||
	    send_requests(f))
		return err_errno_set(e, "connecting");
	return 0;
}

static void hang_up(struct sse_load *f)
{
	for (int i = 0; i < f->n; i++)
		close(f->readers[i].fd);
	if (f->requests >= 0)
		close(f->requests);
	close(f->poll);
	free(f->readers);
}

/* One step: a note of a hundred characters, repeated. */
static void write_script(struct buf *script)
{
	char text[101];

	snprintf(text, sizeof text, "%0100d", 7);
	json_begin_array(script);
	json_begin_object(script);
	json_put_object(script, "event");
	json_put_text(script, "type", "note");
	json_put_text(script, "text", text);
	json_end_object(script);
	json_put_int(script, "repeat", 1000000);
	json_put_int(script, "every_ms", SSE_LOAD_EVERY_MS);
	json_end_object(script);
	json_end_array(script);
}

static int start_run(struct sse_load *f, char run[64], struct err *e)
{
	struct buf script = BUF_MAX(1024);
	int rc;

	write_script(&script);
	rc = test_daemon_call(&f->daemon, "PUT", "/v1/agents/a",
			      "{\"driver\":\"script\"}", NULL, e) ||
	     test_daemon_run(&f->daemon, "a", script.p, run, e);
	buf_fini(&script);
	return rc ? -1 : 0;
}

static int measure_readers(struct sse_load *f, const struct sse_load_options *l,
			   struct bench_run *r, struct bench_sample *out,
			   struct err *e)
{
	double seconds = bench_seconds(r) > 1 ? bench_seconds(r) : 1;
	int64_t begin;
	double cpu, took;
	char run[64];

	if (start_run(f, run, e) || connect_all(f, run, l, e) ||
	    pump(f, clock_mono_ns() + WARM_NS(l->followers), r, e))
		return -1;
	f->counts = true;
	begin = clock_mono_ns();
	cpu = test_daemon_cpu_s(&f->daemon);
	if (pump(f, begin + (int64_t)(seconds * 1e9), r, e))
		return -1;
	took = (double)(clock_mono_ns() - begin) / 1e9;
	out->value = (double)f->events / took;
	out->operations = f->events;
	out->more[SSE_LOAD_RSS_MB] = (double)test_daemon_rss(&f->daemon) / 1e6;
	out->more[SSE_LOAD_CPU] = (test_daemon_cpu_s(&f->daemon) - cpu) / took;
	out->more[SSE_LOAD_REQUEST_P99_US] = (double)histogram_at(&f->answers,
								  0.99) /
					     1e3;
	for (int i = 0; i < f->n; i++)
		out->more[SSE_LOAD_LOST] += (double)f->readers[i].lost;
	return 0;
}

int sse_load_measure(struct bench_run *r, void *arg, struct bench_sample *out,
		     struct err *e)
{
	const struct sse_load_options *l = arg;
	const char *dir = bench_dir(r, "sse_load");
	struct sse_load *f = calloc(1, sizeof *f);
	int rc;

	if (!f)
		abort();
	f->delivery = &out->wait;
	f->requests = -1;
	f->poll = epoll_create1(EPOLL_CLOEXEC);
	f->readers = calloc((size_t)l->followers, sizeof *f->readers);
	rc = f->readers ? test_daemon_start(&f->daemon, dir, e) : -1;
	if (!rc)
		rc = measure_readers(f, l, r, out, e);
	hang_up(f);
	test_daemon_stop(&f->daemon);
	free(f);
	bench_dir_remove(r, dir);
	return rc;
}

int sse_load_raise_files(int want, struct err *e)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return err_errno_set(e, "RLIMIT_NOFILE");
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	if (r.rlim_cur < (rlim_t)want + 64)
		return err_set(e, ERR_USAGE,
			       "only %ld descriptors are allowed: choose fewer "
			       "--followers",
			       (long)r.rlim_cur);
	return 0;
}
