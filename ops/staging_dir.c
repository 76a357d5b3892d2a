#include "ops/staging_dir.h"

#include "lib/os/file.h"
#include "lib/os/open_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_NAME  ".skep-work"
#define REMOVE_FDS 16

static int remove_entry(const char *path, const struct stat *st, int kind,
			struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

int tree_remove(const char *path, struct err *e)
{
	if (nftw(path, remove_entry, REMOVE_FDS, FTW_DEPTH | FTW_PHYS) &&
	    errno != ENOENT)
		return err_errno_set(e, "cannot delete %s", path);
	return 0;
}

int tree_sync(const char *path, struct err *e)
{
	int fd = open_files_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) ? err_errno_set(e, "%s", path) : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

static int open_locked(const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Opens the lock file of a directory and locks it; -1 if it has an owner, or
 * does not exist. */
static int lock_dir(const char *dir)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/" LOCK_NAME, dir);
	return open_locked(path, 0);
}

/* It is renamed after it was locked: otherwise a concurrent call would take it
 * for that of a dead owner. */
static int create_lock(const char *dir)
{
	char path[PATH_MAX], before[PATH_MAX];
	int fd;

	snprintf(path, sizeof path, "%s/" LOCK_NAME, dir);
	snprintf(before, sizeof before, "%s/" LOCK_NAME "-new", dir);
	fd = open_locked(before, O_CREAT | O_EXCL);
	if (fd >= 0 && rename(before, path)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int check_staging_dir(const char *parent, const char *name, bool remove,
			     struct err *e)
{
	char path[PATH_MAX - 64];
	int fd, rc = 1;

	snprintf(path, sizeof path, "%s/%s", parent, name);
	fd = lock_dir(path);
	if (fd < 0)
		return 0;
	if (remove && tree_remove(path, e))
		rc = -1;
	close(fd);
	return rc;
}

static int staging_dir_stale(const char *parent, const char *prefix,
			     bool remove, struct err *e)
{
	DIR *d = opendir(parent);
	const struct dirent *en;
	int n = 0, rc = 0;

	if (!d)
		return errno == ENOENT ? 0 : err_errno_set(e, "%s", parent);
	while (rc >= 0 && (en = readdir(d)))
		if (!strncmp(en->d_name, prefix, strlen(prefix))) {
			rc = check_staging_dir(parent, en->d_name, remove, e);
			n += rc > 0;
		}
	closedir(d);
	return rc < 0 ? -1 : n;
}

int staging_dir_open(struct staging_dir *w, const char *parent,
		     const char *prefix, const char *id, struct err *e)
{
	w->lock = -1;
	if (staging_dir_stale(parent, prefix, true, e) < 0)
		return -1;
	if ((size_t)snprintf(w->path, sizeof w->path, "%s/%s-%s", parent,
			     prefix, id) >= sizeof w->path)
		return err_set(e, ERR_LONGNAME, "%s: the path is too long",
			       parent);
	if (mkdir(w->path, 0700))
		return err_errno_set(e, "%s", w->path);
	w->lock = create_lock(w->path);
	if (w->lock < 0) {
		err_errno_set(e, "%s", w->path);
		rmdir(w->path);
		return -1;
	}
	return 0;
}

const char *staging_dir_path(const struct staging_dir *w, const char *below)
{
	static _Thread_local char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", w->path, below);
	return path;
}

int staging_dir_keep(struct staging_dir *w, struct err *e)
{
	if (unlink(staging_dir_path(w, LOCK_NAME)))
		return err_errno_set(e, "%s", w->path);
	close(w->lock);
	w->lock = -1;
	return 0;
}

void staging_dir_close(struct staging_dir *w)
{
	struct err ignored;

	if (w->lock < 0)
		return;
	(void)tree_remove(w->path, &ignored);
	close(w->lock);
	w->lock = -1;
}

bool staging_dir_is_stale(const char *path)
{
	struct stat st;
	int fd;

	if (lstat(path, &st))
		return false;
	fd = S_ISDIR(st.st_mode) ? lock_dir(path)
				 : open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (!S_ISDIR(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return false;
	}
	close(fd);
	return true;
}

/* Once for all files: thousands of single syncs would take minutes. */
int tree_sync_all(const char *dir, struct err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || syncfs(fd) ? err_errno_set(e, "%s", dir) : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}
