#include "lib/os/atomic_file.h"

#include "lib/base/id.h"
#include "lib/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEFORE ".skep-"
#define AFTER  ".part"

/* Random: threads may write the same file, and a process that died may have had
 * our pid. */
static bool name_tmp(struct atomic_file *f)
{
	uint64_t noise;

	id_random(&noise, sizeof noise);
	return (size_t)snprintf(f->tmp, sizeof f->tmp, "%s.new.%016" PRIx64,
				f->path, noise) < sizeof f->tmp;
}

static bool name_fresh_tmp(struct atomic_file *f)
{
	char dir[PATH_MAX], base[PATH_MAX];

	if ((size_t)snprintf(dir, sizeof dir, "%s", f->path) >= sizeof dir)
		return false;
	memcpy(base, dir, sizeof base);
	return (size_t)snprintf(f->tmp, sizeof f->tmp, "%s/" BEFORE "%s" AFTER,
				dirname(dir), basename(base)) < sizeof f->tmp;
}

static int open_tmp(struct atomic_file *f, mode_t mode, struct err *e)
{
	if (!(f->fresh ? name_fresh_tmp(f) : name_tmp(f)))
		return err_set(e, ERR_LONGNAME, "%s: the path is too long",
			       f->path);
	f->fd = open(f->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (f->fd >= 0)
		return 0;
	f->tmp[0] = '\0'; /* it may belong to another process */
	return err_errno_set(e, "%s", f->path);
}

int atomic_file_open(struct atomic_file *f, const char *path, mode_t mode,
		     struct err *e)
{
	struct stat st;

	*f = (struct atomic_file){.fd = -1, .path = path};
	if (stat(path, &st) || S_ISREG(st.st_mode))
		return open_tmp(f, mode, e);
	f->fd = open(path, O_WRONLY | O_CLOEXEC);
	return f->fd < 0 ? err_errno_set(e, "%s", path) : 0;
}

static bool is_tmp(const char *name)
{
	size_t n = strlen(name), b = strlen(BEFORE), a = strlen(AFTER);

	return n > b + a && !strncmp(name, BEFORE, b) &&
	       !strcmp(name + n - a, AFTER);
}

/* The owner is dead if its lock is free. */
static void remove_stale(const char *path)
{
	char dir[PATH_MAX];
	const struct dirent *en;
	DIR *d;

	if ((size_t)snprintf(dir, sizeof dir, "%s", path) >= sizeof dir)
		return;
	d = opendir(dirname(dir));
	while (d && (en = readdir(d))) {
		int fd = is_tmp(en->d_name)
				 ? openat(dirfd(d), en->d_name,
					  O_RDWR | O_NOFOLLOW | O_CLOEXEC)
				 : -1;

		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dirfd(d), en->d_name, 0);
		close(fd);
	}
	if (d)
		closedir(d);
}

int atomic_file_create(struct atomic_file *f, const char *path, mode_t mode,
		       struct err *e)
{
	*f = (struct atomic_file){.fd = -1, .path = path, .fresh = true};
	if (file_exists(path))
		return err_set(e, ERR_CONFLICT,
			       "%s already exists; delete it or choose "
			       "another name",
			       path);
	remove_stale(path);
	if (open_tmp(f, mode, e))
		return -1;
	return flock(f->fd, LOCK_EX | LOCK_NB) ? err_errno_set(e, "%s", path)
					       : 0;
}

/* A file system may not know RENAME_NOREPLACE. */
static int rename_tmp(const struct atomic_file *f)
{
	if (!f->fresh)
		return rename(f->tmp, f->path);
	if (!renameat2(AT_FDCWD, f->tmp, AT_FDCWD, f->path, RENAME_NOREPLACE))
		return 0;
	return errno == EINVAL ? rename(f->tmp, f->path) : -1;
}

int atomic_file_end(struct atomic_file *f, int rc, struct err *e)
{
	/* pipes and terminals cannot be synced */
	if (rc == 0 && f->fd >= 0 && fsync(f->fd) && errno != EINVAL &&
	    errno != EROFS)
		rc = err_errno_set(e, "%s", f->path);
	if (rc == 0 && f->tmp[0] && rename_tmp(f))
		rc = err_errno_set(e, "%s", f->path);
	if (rc && f->tmp[0])
		unlink(f->tmp);
	if (f->fd >= 0 && close(f->fd) && rc == 0)
		rc = err_errno_set(e, "%s", f->path);
	if (rc == 0 && f->tmp[0])
		rc = file_sync_parent(f->path, e);
	f->fd = -1;
	return rc;
}

int atomic_file_write(const char *path, const void *p, size_t n, mode_t mode,
		      struct err *e)
{
	struct atomic_file f = {.fd = -1, .path = path};

	if (open_tmp(&f, mode, e))
		return -1;
	return atomic_file_end(&f, file_write_fd(f.fd, path, p, n, e), e);
}
