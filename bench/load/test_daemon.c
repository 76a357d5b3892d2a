#include "bench/load/test_daemon.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/http/client.h"
#include "lib/json/json.h"
#include "lib/os/file.h"

#define START_NS (INT64_C(10) * 1000000000)

static int find_skepd(char out[1024], struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", out, 1000);
	char *slash;

	if (n <= 0)
		return err_errno_set(e, "/proc/self/exe");
	out[n] = '\0';
	slash = strrchr(out, '/');
	snprintf(slash + 1, 24, "skepd");
	if (access(out, X_OK))
		return err_set(e, ERR_UNSUPPORTED, "there is no %s", out);
	return 0;
}

static void become_skepd(const char *program, const struct test_daemon *h)
{
	char log[600];

	snprintf(log, sizeof log, "%s.log", h->home);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN); /* Ctrl-C is for the benchmark */
	execl(program, program, "--home", h->home, "--log", log, (char *)NULL);
	_exit(127);
}

static int wait_until_up(struct test_daemon *h, struct err *e)
{
	int64_t end = clock_mono_ns() + START_NS;

	while (clock_mono_ns() < end) {
		struct timespec t = {0, 500000};

		if (test_daemon_call(h, "GET", "/v1/health", NULL, NULL, e) ==
		    0)
			return 0;
		if (waitpid(h->pid, NULL, WNOHANG) == h->pid) {
			h->pid = 0;
			return err_set(e, ERR_INTERNAL,
				       "skepd ended at once: see %s.log",
				       h->home);
		}
		nanosleep(&t, NULL);
	}
	return err_wrap(e, "skepd does not come up");
}

int test_daemon_start(struct test_daemon *h, const char *dir, struct err *e)
{
	struct http_target target = {.unix_path = h->socket};
	char program[1024];

	*h = (struct test_daemon){0};
	if (find_skepd(program, e))
		return -1;
	snprintf(h->home, sizeof h->home, "%s/home", dir);
	snprintf(h->socket, sizeof h->socket, "%s/run/skep.sock", h->home);
	h->pid = fork();
	if (h->pid < 0)
		return err_errno_set(e, "fork");
	if (h->pid == 0)
		become_skepd(program, h);
	if (http_client_open(&h->client, &target, e) || wait_until_up(h, e)) {
		test_daemon_stop(h);
		return -1;
	}
	return 0;
}

/* Runs continue after a signal, so it is also asked to end them. */
void test_daemon_stop(struct test_daemon *h)
{
	struct err ignored;

	if (h->pid > 0 &&
	    (!h->client ||
	     test_daemon_call(h, "POST", "/v1/stop",
			      "{\"intent\":\"down-now\"}", NULL, &ignored)))
		kill(h->pid, SIGTERM);
	if (h->pid > 0)
		waitpid(h->pid, NULL, 0);
	h->pid = 0;
	http_client_close(h->client);
	h->client = NULL;
}

int test_daemon_call(struct test_daemon *h, const char *method,
		     const char *path, const char *body, struct buf *answer,
		     struct err *e)
{
	return http_client_call(h->client, method, path, body, answer, e) < 0
		       ? -1
		       : 0;
}

int test_daemon_dial(const struct test_daemon *h)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%.107s", h->socket);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at)) {
		close(fd);
		return -1;
	}
	return fd;
}

int test_daemon_send(int fd, const char *text)
{
	size_t n = strlen(text);

	return write(fd, text, n) == (ssize_t)n ? 0 : -1;
}

int test_daemon_run(struct test_daemon *h, const char *agent,
		    const char *script, char id[64], struct err *e)
{
	struct buf body = BUF_MAX(1 << 20), answer = BUF_MAX(1 << 20);
	cJSON *row = NULL;
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "agent", agent);
	json_put_text(&body, "prompt", script);
	json_end_object(&body);
	rc = test_daemon_call(h, "POST", "/v1/runs", body.p, &answer, e);
	if (!rc)
		row = json_parse_object("the run", answer.p, answer.n, e);
	if (row)
		snprintf(id, 64, "%s", json_text(row, "id", ""));
	cJSON_Delete(row);
	buf_fini(&body);
	buf_fini(&answer);
	return row ? 0 : -1;
}

static void read_proc(const struct test_daemon *h, const char *name,
		      struct buf *b)
{
	struct err ignored;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)h->pid, name);
	if (file_read(path, b, &ignored))
		buf_clear(b);
}

int64_t test_daemon_rss(const struct test_daemon *h)
{
	struct buf b = BUF_MAX(8192);
	int64_t pages = 0;
	char *second;

	read_proc(h, "statm", &b);
	second = strchr(b.p, ' ');
	if (second)
		pages = strtoll(second, NULL, 10);
	buf_fini(&b);
	return pages * sysconf(_SC_PAGESIZE);
}

double test_daemon_cpu_s(const struct test_daemon *h)
{
	struct buf b = BUF_MAX(8192);
	unsigned long user = 0, system = 0;
	char *after;

	read_proc(h, "stat", &b);
	after = strrchr(b.p, ')');
	for (int field = 2; after && field < 14; field++)
		after = strchr(after + 1, ' ');
	if (after) {
		user = strtoul(after, &after, 10);
		system = strtoul(after, NULL, 10);
	}
	buf_fini(&b);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}
