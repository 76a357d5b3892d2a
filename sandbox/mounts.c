#include "sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* Directories up to the place, and an empty file there if it is for one. */
static bool make_place(const char *path, bool dir)
{
	char part[PATH_MAX];
	size_t n = 1, all = strlen(path);
	int fd;

	if (all >= sizeof part)
		return false;
	while (n < all) {
		n += strcspn(path + n, "/");
		memcpy(part, path, n);
		part[n++] = '\0';
		if (n <= all || dir) {
			if (mkdir(part, 0755) && errno != EEXIST)
				return false;
		}
	}
	if (dir)
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* What is put back into a directory of theirs would be theirs to write. */
static bool take_trees(struct mounts *m)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};

	for (int i = 0; i < m->plan->nkept; i++) {
		m->at = m->plan->kept[i];
		m->tree[i] = open_tree(AT_FDCWD, m->at,
				       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
					       AT_RECURSIVE);
		if (m->tree[i] >= 0 && i >= m->plan->nwritten &&
		    mount_setattr(m->tree[i], "", AT_EMPTY_PATH | AT_RECURSIVE,
				  &read_only, sizeof read_only))
			return false;
	}
	return true;
}

static uint64_t mount_of(int fd, const char *path, int flags)
{
	struct statx st;

	return statx(fd, path, flags, STATX_MNT_ID, &st) == 0 &&
			       (st.stx_mask & STATX_MNT_ID)
		       ? st.stx_mnt_id
		       : 0;
}

/* A file in a directory that is kept too came back with it, when one cover lies
 * below another: it cannot be put onto itself. */
static bool is_back(int tree, const char *path)
{
	uint64_t there = mount_of(AT_FDCWD, path, AT_NO_AUTOMOUNT);

	return there && there == mount_of(tree, "", AT_EMPTY_PATH);
}

/* An empty directory over it, with what is kept below it put back. */
static bool cover(struct mounts *m, const char *dir, const char *options)
{
	struct stat st;

	m->at = dir;
	if (stat(dir, &st))
		return true; /* covered already, or not there */
	if (mount("skep", dir, "tmpfs", MS_NOSUID | MS_NODEV, options))
		return false;
	for (int i = 0; i < m->plan->nkept; i++) {
		const char *path = m->plan->kept[i];

		m->at = path;
		if (m->tree[i] < 0 || !is_below(path, dir) ||
		    is_back(m->tree[i], path))
			continue;
		if (fstat(m->tree[i], &st) ||
		    !make_place(path, S_ISDIR(st.st_mode)))
			return false;
		if (move_mount(m->tree[i], "", AT_FDCWD, path,
			       MOVE_MOUNT_F_EMPTY_PATH))
			return false;
	}
	return true;
}

/* Services of the machine that a command must not reach. */
static bool cover_services(struct mounts *m)
{
	static const char *const dirs[] = {
#define COVER_DIR(path) path,
#define COVER_SOCKET(path)
#include "sandbox/sockets.def"
#undef COVER_DIR
#undef COVER_SOCKET
	};
	static const char *const sockets[] = {
#define COVER_DIR(path)
#define COVER_SOCKET(path) path,
#include "sandbox/sockets.def"
#undef COVER_DIR
#undef COVER_SOCKET
	};
	struct stat st;

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		if (!cover(m, dirs[i], "mode=0755,size=64k"))
			return false;
	for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++) {
		m->at = sockets[i];
		if (stat(sockets[i], &st) == 0 && S_ISSOCK(st.st_mode) &&
		    mount("/dev/null", sockets[i], NULL, MS_BIND, NULL))
			return false;
	}
	return true;
}

/* A view of the run's own processes only. */
static bool cover_proc(struct mounts *m)
{
	m->at = "/proc";
	return m->plan->host_pids ||
	       mount("proc", "/proc", "proc",
		     MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL) == 0;
}

bool mounts_make(struct mounts *m)
{
	const struct space_plan *p = m->plan;
	char tmp[64];

	snprintf(tmp, sizeof tmp, "mode=1777,size=%lld", (long long)p->tmp);
	m->at = "/";
	if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
		return false;
	return take_trees(m) && cover_services(m) && cover(m, "/tmp", tmp) &&
	       cover(m, "/dev/shm", tmp) &&
	       (!p->hidden || cover(m, p->hidden, "mode=0755,size=64k")) &&
	       cover_proc(m);
}
