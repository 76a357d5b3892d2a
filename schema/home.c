#include "schema/home.h"

#include "lib/base/text.h"
#include "lib/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const struct {
	const char *path;
	bool directory;
} places[HOME_PLACES] = {

#define HOME(name, path, directory) [HOME_##name] = {path, directory},
#include "schema/home.def"
#undef HOME
};

const char *home_env(const char *name)
{
	const char *v = getenv(name);

	if (!v || !*v || !strcmp(v, "undefined") || !strcmp(v, "null"))
		return NULL;
	return v;
}

static const char *user_home(void)
{
	const char *home = home_env("HOME");
	const struct passwd *pw;

	if (home)
		return home;
	pw = getpwuid(geteuid());
	return pw ? pw->pw_dir : NULL;
}

static int set_root(struct home *h, const char *path, struct err *e)
{
	char cwd[PATH_MAX] = "";
	int n;

	if (path[0] != '/' && !getcwd(cwd, sizeof cwd))
		return err_errno_set(e, "current directory");
	n = snprintf(h->root, sizeof h->root, "%s%s%s", cwd,
		     path[0] == '/' ? "" : "/", path);
	if (n < 0 || (size_t)n >= sizeof h->root)
		return err_set(e, ERR_USAGE, "home '%s': the path is too long",
			       quoted(path).text);
	while (n > 1 && h->root[n - 1] == '/')
		h->root[--n] = '\0';
	return 0;
}

int home_find(struct home *h, const char *override, struct err *e)
{
	const char *env = home_env("SKEP_HOME"), *user = user_home();
	char path[PATH_MAX];

	if (override || env)
		return set_root(h, override ? override : env, e);
	if (!user)
		return err_set(e, ERR_CONFIG,
			       "no home directory: set SKEP_HOME");
	if ((size_t)snprintf(path, sizeof path, "%s/.skep", user) >=
	    sizeof path)
		return err_set(e, ERR_USAGE, "HOME: the path is too long");
	return set_root(h, path, e);
}

int home_make(const struct home *h, struct err *e)
{
	if (file_make_dir(h->root, 0700, e))
		return -1;
	for (int i = 0; i < HOME_PLACES; i++)
		if (places[i].directory &&
		    file_make_dir(home_path(h, (enum home_place)i).text, 0700,
				  e))
			return -1;
	return 0;
}

static int is_writable(const char *path, struct err *e)
{
	if (access(path, W_OK) == 0 || errno == ENOENT)
		return 0;
	return err_set(e, ERR_READONLY, "the directory %s is not writable: %s",
		       path,
		       errno == EROFS ? "the file system is read-only"
				      : strerror(errno));
}

int home_is_writable(const struct home *h, struct err *e)
{
	if (is_writable(h->root, e))
		return -1;
	for (int i = 0; i < HOME_PLACES; i++)
		if (places[i].directory &&
		    is_writable(home_path(h, (enum home_place)i).text, e))
			return -1;
	return 0;
}

struct home_path home_path(const struct home *h, enum home_place place)
{
	struct home_path p;

	snprintf(p.text, sizeof p.text, "%s/%s", h->root, places[place].path);
	return p;
}

struct home_path home_join(const struct home *h, enum home_place place,
			   const char *below)
{
	struct home_path p = home_path(h, place);
	size_t n = strlen(p.text);

	snprintf(p.text + n, sizeof p.text - n, "/%s", below);
	return p;
}

static int open_root(const struct home *h, struct err *e)
{
	int fd = open(h->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? err_errno_set(e, "%s", h->root) : fd;
}

static int lock(const struct home *h, int how, struct err *e)
{
	int fd = open_root(h, e);

	if (fd < 0 || flock(fd, how | LOCK_NB) == 0)
		return fd;
	if (errno == EWOULDBLOCK)
		err_set(e, ERR_BUSY,
			"another supervisor is running for %s; stop "
			"it with 'skep down' first",
			h->root);
	else
		err_errno_set(e, "cannot lock %s", h->root);
	close(fd);
	return -1;
}

int home_lock(const struct home *h, struct err *e)
{
	return lock(h, LOCK_EX, e);
}

/* Shared, so that several checks do not block each other. */
int home_is_locked(const struct home *h, struct err *e)
{
	int fd = lock(h, LOCK_SH, e);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : e->code == ERR_BUSY ? 1 : -1;
}

/* A line of /proc/locks: "3: FLOCK  ADVISORY  WRITE 817 fe:00:5211 0 EOF". */
pid_t home_lock_holder(const struct home *h)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned long long inode;
	unsigned int major, minor;
	char line[256];
	struct stat st;
	pid_t found = 0;
	int pid;

	while (f && !found && !stat(h->root, &st) &&
	       fgets(line, sizeof line, f))
		if (sscanf(line, "%*d: FLOCK %*s WRITE %d %x:%x:%llu", &pid,
			   &major, &minor, &inode) == 4 &&
		    inode == st.st_ino && major == major(st.st_dev) &&
		    minor == minor(st.st_dev) && pid > 0)
			found = pid;
	if (f)
		(void)fclose(f);
	return found;
}
