/* Other programs remove files while a sandbox is made. This program defines
 * mount() itself, so that a path can disappear between the sandbox's look at it
 * and the mount that hides it. */
#include "lib/sandbox/namespaces.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static char vanishing[64]; /* a socket */
static int vanishing_dir;  /* opened before its file system was read-only */

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name)
int mount(const char *source, const char *target, const char *type,
	  unsigned long flags, const void *data)
{
	if (target && strcmp(target, vanishing) == 0)
		(void)unlinkat(vanishing_dir, "socket", 0);
	return (int)syscall(SYS_mount, source, target, type, flags, data);
}

static int listen_at(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

static const struct namespaces_plan plan = {.user = -1,
					    .mnt = -1,
					    .root = -1,
					    .network = NETWORK_LOOPBACK,
					    .tmp = 65536};

/* The first process that creates the namespaces must succeed: after the last
 * attempt of namespaces_make there is no PID namespace. */
static void a_socket_that_vanishes_is_not_an_error(void **state)
{
	char dir[] = "/var/tmp/skep-unit-XXXXXX";
	struct namespaces s = NAMESPACES_NONE;
	struct err e;
	pid_t first;
	int fd;

	(void)state;
	if (namespaces_make(&s, &plan, &e))
		skip();
	namespaces_drop(&s);
	assert_non_null(mkdtemp(dir));
	(void)snprintf(vanishing, sizeof vanishing, "%s/socket", dir);
	vanishing_dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = listen_at(vanishing);
	s = (struct namespaces)NAMESPACES_NONE;
	namespaces_begin(&s, &plan);
	first = s.init;
	assert_int_equal(namespaces_make(&s, &plan, &e), 0);
	assert_int_not_equal(access(vanishing, F_OK), 0);
	assert_int_equal(s.init, first);
	namespaces_drop(&s);
	close(vanishing_dir);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_socket_that_vanishes_is_not_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
