#include "ops/outfile.h"

#include "lib/base/fault.h"
#include "lib/os/file.h"
#include "ops/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BEFORE ".skep-"
#define AFTER  ".part"

static bool is_part(const char *name)
{
	size_t n = strlen(name), b = strlen(BEFORE), a = strlen(AFTER);

	return n > b + a && !strncmp(name, BEFORE, b) &&
	       !strcmp(name + n - a, AFTER);
}

/* It has no owner: the lock is free. */
static void remove_stale(int dir)
{
	DIR *d = fdopendir(dup(dir));
	const struct dirent *en;

	while (d && (en = readdir(d))) {
		int fd = is_part(en->d_name)
				 ? openat(dir, en->d_name,
					  O_RDWR | O_NOFOLLOW | O_CLOEXEC)
				 : -1;

		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dir, en->d_name, 0);
		close(fd);
	}
	if (d)
		closedir(d);
}

static int name_part(struct outfile *f, const char *path, struct err *e)
{
	char dir[PATH_MAX], base[PATH_MAX];
	int fd;

	snprintf(f->path, sizeof f->path, "%s", path);
	snprintf(dir, sizeof dir, "%s", path);
	snprintf(base, sizeof base, "%s", path);
	if ((size_t)snprintf(f->part, sizeof f->part, "%s/" BEFORE "%s" AFTER,
			     dirname(dir), basename(base)) >= sizeof f->part)
		return err_set(e, ERR_LONGNAME, "%s: the path is too long",
			       path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno_set(e, "%s", dir);
	remove_stale(fd);
	close(fd);
	return 0;
}

int outfile_open(struct outfile *f, const char *path, struct err *e)
{
	f->fd = -1;
	if (file_exists(path))
		return err_set(e, ERR_CONFLICT,
			       "%s already exists; delete it or choose "
			       "another name",
			       path);
	if (name_part(f, path, e))
		return -1;
	f->fd = open(f->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (f->fd < 0)
		return err_errno_set(e, "%s", f->part);
	return flock(f->fd, LOCK_EX | LOCK_NB) ? err_errno_set(e, "%s", f->part)
					       : 0;
}

int outfile_commit(struct outfile *f, struct err *e)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof dir, "%s", f->path);
	if (fsync(f->fd))
		return err_errno_set(e, "%s", f->path);
	if (fault_point(FAULT_backup_done, e))
		return -1;
	if (renameat2(AT_FDCWD, f->part, AT_FDCWD, f->path, RENAME_NOREPLACE) &&
	    (errno != EINVAL || rename(f->part, f->path)))
		return err_errno_set(e, "%s", f->path);
	close(f->fd);
	f->fd = -1;
	return tree_sync(dirname(dir), e);
}

void outfile_abort(struct outfile *f)
{
	if (f->fd < 0)
		return;
	unlink(f->part);
	close(f->fd);
	f->fd = -1;
}
