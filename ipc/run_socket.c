#include "ipc/run_socket.h"

#include "lib/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A path through a descriptor is always short enough for an address. */
static void address_in(struct sockaddr_un *at, int dir, const char *name)
{
	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(at->sun_path, sizeof at->sun_path, "/proc/self/fd/%d/%.60s",
		 dir, name);
}

int run_socket_connect(const char *path)
{
	char *copy = strdup(path);
	int dir = copy ? open(dirname(copy), O_PATH | O_CLOEXEC) : -1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const char *slash = strrchr(path, '/');
	struct sockaddr_un at;

	address_in(&at, dir, slash ? slash + 1 : path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at)) {
		int sys = errno;

		close(fd);
		fd = -1;
		errno = sys;
	}
	if (dir >= 0)
		close(dir);
	free(copy);
	return fd;
}

int run_socket_listen(int dir, const char *name, int backlog)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at;

	address_in(&at, dir, name);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
	    listen(fd, backlog) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- a call ----------------------------------------------------------- */

static int send_line(int fd, const struct run_socket_request *q,
		     const char *token, struct err *e)
{
	struct buf b = BUF_MAX(RUN_REQUEST_MAX);
	size_t at = 0;
	int rc;

	json_begin_object(&b);
	json_put_text(&b, "token", token);
	json_put_text(&b, "verb", q->verb);
	json_put_text(&b, "key", q->key);
	json_put_raw(&b, "args", q->args);
	json_end_object(&b);
	buf_addc(&b, '\n');
	rc = buf_ok(&b, "the request", e);
	while (rc == 0 && at < b.n) {
		ssize_t n = send(fd, b.p + at, b.n - at, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			rc = err_errno_set(e, "the worker of this run");
		at += n > 0 ? (size_t)n : 0;
	}
	buf_fini(&b);
	return rc;
}

static int read_line(int fd, struct buf *line, struct err *e)
{
	while (line->n == 0 || line->p[line->n - 1] != '\n') {
		char *room = buf_room(line, 65536);
		ssize_t n = room ? read(fd, room, 65536) : 0;

		if (!room)
			return err_set(e, ERR_TOOBIG, "the result is too long");
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, ERR_UNAVAILABLE,
				       "the worker of this run closed the "
				       "connection");
		buf_grew(line, (size_t)n);
	}
	return 0;
}

static int take_result(const struct buf *line, struct buf *out, struct err *e)
{
	cJSON *v = json_parse_object("the result", line->p, line->n, e);
	const cJSON *result = json_member(v, "result");
	int rc = 0;

	if (!v)
		return -1;
	if (result)
		json_add(out, result);
	else
		rc = err_set(e, err_from_name(json_text(v, "code", "")), "%s",
			     json_text(v, "error", "no reason was given"));
	cJSON_Delete(v);
	return rc ? -1 : buf_ok(out, "the result", e);
}

int run_socket_call(const struct run_socket_request *q, struct buf *out,
		    struct err *e)
{
	const char *path = getenv(RUN_SOCKET_ENV);
	const char *token = getenv(RUN_TOKEN_ENV);
	struct buf line = BUF_MAX(RUN_RESULT_MAX);
	int fd, rc;

	if (!path || !token)
		return err_set(e, ERR_UNAVAILABLE,
			       RUN_SOCKET_ENV " is not set: this is not a "
					      "process of a run that may "
					      "start child runs");
	fd = run_socket_connect(path);
	if (fd < 0)
		return err_set(e, ERR_UNAVAILABLE, "%s: %s", path,
			       strerror(errno));
	rc = send_line(fd, q, token, e);
	if (rc == 0)
		rc = read_line(fd, &line, e);
	if (rc == 0)
		rc = take_result(&line, out, e);
	close(fd);
	buf_fini(&line);
	return rc;
}
