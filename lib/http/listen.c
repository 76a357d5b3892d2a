#include "lib/http/listen.h"

#include "lib/base/text.h"
#include "lib/http/server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096

static int new_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int fail(int fd, const char *what, struct err *e)
{
	err_errno_set(e, "cannot listen on %s", what);
	close(fd);
	return -1;
}

/* Whether a server accepts connections there. */
static bool is_alive(const struct sockaddr_un *at)
{
	int fd = new_socket(AF_UNIX);
	bool alive = connect(fd, (const struct sockaddr *)at, sizeof *at) ==
			     0 ||
		     errno == EAGAIN; /* alive, and its backlog is full */

	close(fd);
	return alive;
}

int listen_unix(const char *path, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof at.sun_path)
		return err_set(e, ERR_USAGE,
			       "the socket path %s has %zu bytes, and %zu is "
			       "the most; choose a shorter home",
			       path, strlen(path), sizeof at.sun_path - 1);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	fd = new_socket(AF_UNIX);
	if (fd < 0)
		return err_errno_set(e, "cannot create a socket");
	/* Before bind, so that there is no moment at which others could
	 * connect. */
	if (fchmod(fd, 0600))
		return fail(fd, path, e);
	if (bind(fd, (struct sockaddr *)&at, sizeof at)) {
		if (errno != EADDRINUSE)
			return fail(fd, path, e);
		if (is_alive(&at)) {
			close(fd);
			return err_set(e, ERR_CONFLICT,
				       "another server is listening on %s",
				       path);
		}
		if (unlink(path) || bind(fd, (struct sockaddr *)&at, sizeof at))
			return fail(fd, path, e);
	}
	if (listen(fd, BACKLOG))
		return fail(fd, path, e);
	return fd;
}

static int bound_port(int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t n = sizeof at;

	if (getsockname(fd, (struct sockaddr *)&at, &n))
		return 0;
	if (at.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&at)->sin6_port);
	return ntohs(((struct sockaddr_in *)&at)->sin_port);
}

static int resolve(const char *address, struct addrinfo **found, struct err *e)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM,
				.ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	char host[TEXT_HOST], service[TEXT_PORT];
	int rc;

	if (text_address(address, host, service, e))
		return -1;
	rc = getaddrinfo(host, service, &want, found);
	if (rc)
		return err_set(e, ERR_USAGE, "cannot listen on %s: %s", address,
			       gai_strerror(rc));
	return 0;
}

int http_check_address(const char *address, const char *held, struct err *e)
{
	char host[TEXT_HOST], port[TEXT_PORT], held_port[TEXT_PORT];
	struct err no_matter;
	struct addrinfo *found;
	int fd, ignored;

	if (resolve(address, &found, e))
		return -1;
	freeaddrinfo(found);
	if (!text_address(address, host, port, e) &&
	    !text_address(held, host, held_port, &no_matter) &&
	    !strcmp(port, held_port))
		return 0;
	fd = listen_tcp(address, &ignored, e);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

int listen_tcp(const char *address, int *port, struct err *e)
{
	struct addrinfo *found;
	int fd, rc, on = 1;

	if (resolve(address, &found, e))
		return -1;
	fd = new_socket(found->ai_family);
	if (fd < 0) {
		freeaddrinfo(found);
		return err_errno_set(e, "cannot create a socket");
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	rc = bind(fd, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	if (rc || listen(fd, BACKLOG))
		return fail(fd, address, e);
	*port = bound_port(fd);
	return fd;
}
