/* Redis Streams with the same checks in a script, AOF with fsync every second:
 * a server of our own for each measurement, over a unix socket. */
#include "bench/suites/store.h"
#include "lib/base/clock.h"
#include "lib/os/file.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS  5000
#define REPLY_MAX (256u << 20)

/* session, key, json: the idempotency key, the parent (the last id), and the
 * event, in one atomic step. */
static const char script[] =
	"if ARGV[1] ~= '' then "
	"local was = redis.call('HGET', KEYS[1]..':keys', ARGV[1]) "
	"if was then return was end end "
	"redis.call('SADD', 'sessions', KEYS[1]) "
	"local parent = redis.call('GET', KEYS[1]..':tail') or '' "
	"local id = redis.call('XADD', KEYS[1], '*', 'json', ARGV[2], "
	"'parent', parent) "
	"redis.call('SET', KEYS[1]..':tail', id) "
	"if ARGV[1] ~= '' then "
	"redis.call('HSET', KEYS[1]..':keys', ARGV[1], id) end "
	"return id";

struct redis {
	pid_t pid;
	int fd;
	char session[64];
	char sha[64];
	struct buf in; /* received bytes that were not read yet, from `at` on */
	size_t at;
	struct buf out;
};

static void close_redis(void *store)
{
	struct redis *s = store;

	if (s->fd >= 0)
		close(s->fd);
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	buf_fini(&s->in);
	buf_fini(&s->out);
	free(s);
}

static pid_t start_server(const char *dir, const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		execlp("redis-server", "redis-server", "--port", "0",
		       "--unixsocket", path, "--dir", dir, "--save", "",
		       "--appendonly", "yes", "--appendfsync", "everysec",
		       (char *)NULL);
		_exit(127);
	}
	return pid;
}

static int dial(struct redis *s, const char *path, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int64_t end = clock_mono_ns() + INT64_C(1000000) * START_MS;

	if (strlen(path) >= sizeof at.sun_path)
		return err_set(e, ERR_UNSUPPORTED,
			       "the path of the socket is too long");
	memcpy(at.sun_path, path, strlen(path) + 1);
	while (clock_mono_ns() < end) {
		s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(s->fd, (struct sockaddr *)&at, sizeof at) == 0)
			return 0;
		close(s->fd);
		s->fd = -1;
		if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
			s->pid = 0;
			break;
		}
		usleep(5000);
	}
	return err_set(e, ERR_UNSUPPORTED,
		       "redis-server cannot be started (apt-get install "
		       "redis-server)");
}

static void word(struct redis *s, const char *p, size_t n)
{
	buf_addf(&s->out, "$%zu\r\n", n);
	buf_add(&s->out, p, n);
	buf_adds(&s->out, "\r\n");
}

static int more(struct redis *s, struct err *e)
{
	char *room = buf_room(&s->in, 65536);
	ssize_t n;

	if (!room)
		return buf_ok(&s->in, "redis", e);
	do
		n = read(s->fd, room, 65536);
	while (n < 0 && errno == EINTR); /* Ctrl-C: this one is completed */
	if (n <= 0)
		return err_set(e, ERR_IO, "redis ended the connection");
	buf_grew(&s->in, (size_t)n);
	return 0;
}

/* The next line of the reply without its end; borrowed until the next call. */
static int line(struct redis *s, const char **out, struct err *e)
{
	char *end;

	while (!(end = strstr(s->in.p + s->at, "\r\n")))
		if (more(s, e))
			return -1;
	*end = '\0';
	*out = s->in.p + s->at;
	s->at = (size_t)(end - s->in.p) + 2;
	if (**out == '-')
		return err_set(e, ERR_IO, "redis: %s", *out);
	return 0;
}

/* A bulk string, as bytes in the buffer. */
static int bulk(struct redis *s, const char **p, size_t *n, struct err *e)
{
	const char *head;

	if (line(s, &head, e))
		return -1;
	*n = head[0] == '$' ? strtoul(head + 1, NULL, 10) : 0;
	while (s->in.n - s->at < *n + 2)
		if (more(s, e))
			return -1;
	*p = s->in.p + s->at;
	s->at += *n + 2;
	return 0;
}

static int flush(struct redis *s, struct err *e)
{
	int rc = file_write_fd(s->fd, "redis", s->out.p, s->out.n, e);

	buf_clear(&s->out);
	buf_clear(&s->in);
	s->at = 0;
	return rc;
}

static int load_script(struct redis *s, struct err *e)
{
	const char *sha;
	size_t n;

	buf_adds(&s->out, "*3\r\n");
	word(s, "SCRIPT", 6);
	word(s, "LOAD", 4);
	word(s, script, sizeof script - 1);
	if (flush(s, e) || bulk(s, &sha, &n, e))
		return -1;
	snprintf(s->sha, sizeof s->sha, "%.*s", (int)n, sha);
	return 0;
}

static int open_redis(void **out, const char *dir, const char *session,
		      struct err *e)
{
	struct redis *s = calloc(1, sizeof *s);
	char path[4096];

	if (!s)
		abort();
	s->fd = -1;
	buf_init(&s->in, REPLY_MAX);
	buf_init(&s->out, 16u << 20);
	snprintf(s->session, sizeof s->session, "%s", session);
	/* short: the path of a socket has at most 107 bytes */
	snprintf(path, sizeof path, "/tmp/skep-bench-redis-%d.sock",
		 (int)getpid());
	s->pid = start_server(dir, path);
	if (dial(s, path, e) || load_script(s, e)) {
		close_redis(s);
		return -1;
	}
	unlink(path);
	*out = s;
	return 0;
}

static int append_redis(void *store, const struct store_event *ev, size_t n,
			struct err *e)
{
	struct redis *s = store;
	const char *id;
	size_t len;

	for (size_t i = 0; i < n; i++) {
		const char *key = ev[i].key ? ev[i].key : "";

		buf_adds(&s->out, "*6\r\n");
		word(s, "EVALSHA", 7);
		word(s, s->sha, strlen(s->sha));
		word(s, "1", 1);
		word(s, s->session, strlen(s->session));
		word(s, key, strlen(key));
		word(s, ev[i].json, ev[i].n);
	}
	if (flush(s, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (bulk(s, &id, &len, e))
			return -1;
	return 0;
}

/* One entry of XRANGE: [id, [json, TEXT, parent, ID]]. */
static int read_entry(struct redis *s, const char **json, size_t *n,
		      struct err *e)
{
	const char *skip;
	size_t len;

	return line(s, &skip, e) || bulk(s, &skip, &len, e) ||
			       line(s, &skip, e) || bulk(s, &skip, &len, e) ||
			       bulk(s, json, n, e)
		       ? -1
		       : 0;
}

static int read_redis(void *store,
		      int (*each)(void *arg, const char *json, size_t n),
		      void *arg, struct err *e)
{
	struct redis *s = store;
	const char *head, *json, *skip;
	size_t n, len;
	int stop = 0;

	buf_adds(&s->out, "*4\r\n");
	word(s, "XRANGE", 6);
	word(s, s->session, strlen(s->session));
	word(s, "-", 1);
	word(s, "+", 1);
	if (flush(s, e) || line(s, &head, e))
		return -1;
	for (unsigned long left = strtoul(head + 1, NULL, 10);
	     left > 0 && !stop; left--) {
		if (read_entry(s, &json, &n, e))
			return -1;
		stop = each(arg, json, n);
		for (int i = 0; i < 2; i++) /* a field and its value */
			if (bulk(s, &skip, &len, e))
				return -1;
	}
	return 0;
}

const struct store_kind store_redis = {
	.name = "redis",
	.what = "Redis Streams, the same checks in Lua, AOF everysec",
	.server = true,
	.open = open_redis,
	.append = append_redis,
	.read = read_redis,
	.close = close_redis,
};
