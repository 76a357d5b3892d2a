#include "lib/sandbox/written.h"

#include "lib/sandbox/homes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as in the kernel */

/* A path that is opened name by name. */
struct walk {
	const struct written *written;
	int fd;              /* of `at` */
	char at[PATH_MAX];   /* without links; "" is / */
	char rest[PATH_MAX]; /* still to be opened */
	int links;
};

struct written written_by(const struct sandbox_spec *s, const char *workspace)
{
	struct written w = {.n = 0};

	if (workspace)
		w.path[w.n++] = workspace;
	for (int i = 0; i < s->write.n; i++)
		w.path[w.n++] = s->write.path[i];
	return w;
}

static bool is_inside(const char *path, const char *dir)
{
	return path_is_below(path, dir) && strcmp(path, dir) != 0;
}

static bool real_path(int fd, char real[PATH_MAX])
{
	char self[64];
	ssize_t n;

	if (fd < 0)
		return false;
	(void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	n = readlink(self, real, PATH_MAX - 1);
	close(fd);
	if (n > 0)
		real[n] = '\0';
	return n > 0;
}

/* Whether a run can replace it. The path has no links; a path of the list may
 * have some. */
static bool is_written(const struct written *w, const char *path)
{
	char real[PATH_MAX];

	for (int i = 0; i < w->n; i++)
		if (is_inside(path, w->path[i]) ||
		    (real_path(open(w->path[i], O_PATH | O_CLOEXEC), real) &&
		     is_inside(path, real)))
			return true;
	return false;
}

static int fail(int sys)
{
	errno = sys;
	return -1;
}

static int replace_fd(struct walk *k, int fd)
{
	if (fd < 0)
		return -1;
	close(k->fd);
	k->fd = fd;
	return 0;
}

static int go_to_root(struct walk *k)
{
	k->at[0] = '\0';
	return replace_fd(k, open("/", O_PATH | O_CLOEXEC));
}

/* A directory that a run can move has no certain parent. */
static int go_up(struct walk *k)
{
	char *last = strrchr(k->at, '/');

	if (is_written(k->written, k->at))
		return fail(ELOOP);
	if (last)
		*last = '\0';
	return replace_fd(k, openat(k->fd, "..", O_PATH | O_CLOEXEC));
}

/* The rest begins with the text of the link; fd is the link itself. */
static int follow(struct walk *k, int fd)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(fd, "", text, sizeof text);
	size_t rest = strlen(k->rest) + 1;

	if (n < 0)
		return -1;
	if (++k->links > LINKS_MAX)
		return fail(ELOOP);
	if ((size_t)n + 1 + rest > sizeof k->rest)
		return fail(ENAMETOOLONG);
	memmove(k->rest + n + 1, k->rest, rest);
	memcpy(k->rest, text, (size_t)n);
	k->rest[n] = '/';
	return text[0] == '/' ? go_to_root(k) : 0;
}

/* Keeps or closes fd, which is `name` in `at`. */
static int enter(struct walk *k, const char *name, int fd)
{
	size_t n = strlen(k->at);
	struct stat st;
	int rc;

	if (n + 1 + strlen(name) >= sizeof k->at || fstat(fd, &st)) {
		close(fd);
		return fail(ENAMETOOLONG);
	}
	k->at[n] = '/';
	memcpy(k->at + n + 1, name, strlen(name) + 1);
	if (!S_ISLNK(st.st_mode))
		return replace_fd(k, fd);
	rc = is_written(k->written, k->at) ? fail(ELOOP) : 0;
	k->at[n] = '\0';
	if (rc == 0)
		rc = follow(k, fd);
	close(fd);
	return rc;
}

/* 1: opened; 0: there is more. */
static int step(struct walk *k)
{
	size_t from = strspn(k->rest, "/");
	size_t n = strcspn(k->rest + from, "/");
	char name[NAME_MAX + 1];
	int fd;

	if (n == 0)
		return 1;
	if (n > NAME_MAX)
		return fail(ENAMETOOLONG);
	memcpy(name, k->rest + from, n);
	name[n] = '\0';
	memmove(k->rest, k->rest + from + n, strlen(k->rest + from + n) + 1);
	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0)
		return go_up(k);
	fd = openat(k->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -1 : enter(k, name, fd);
}

static int open_by_names(const struct written *w, const char *path)
{
	struct walk k;
	int rc = 0, sys;

	k.written = w;
	k.links = 0;
	k.at[0] = '\0';
	if (path[0] != '/' || strlen(path) >= sizeof k.rest)
		return fail(path[0] == '/' ? ENAMETOOLONG : EINVAL);
	memcpy(k.rest, path, strlen(path) + 1);
	k.fd = open("/", O_PATH | O_CLOEXEC);
	while (k.fd >= 0 && rc == 0)
		rc = step(&k);
	if (rc > 0)
		return k.fd;
	sys = errno;
	if (k.fd >= 0)
		close(k.fd);
	return fail(sys);
}

/* Most paths have no links. */
int written_open(const struct written *w, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

	if (fd >= 0 || (errno != ELOOP && errno != ENOSYS))
		return fd;
	return open_by_names(w, path);
}

bool written_resolve(const struct written *w, const char *path,
		     char real[PATH_MAX])
{
	return real_path(written_open(w, path), real);
}
