#include "tests/support/vfs_model.h"
#include "tests/support/vfs_test.h"

#include "lib/base/buf.h"
#include "lib/base/hash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A directory of the host, or of a mount, as a model. */

static char data[STEP_BYTES];

static long result(long rc)
{
	return rc < 0 ? -errno : rc;
}

/* Opens what a path leads to, if it is a file: a pipe would wait for others. */
static int open_regular(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC, 0644);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISFIFO(st.st_mode))
		return fd;
	close(fd);
	errno = ENXIO;
	return -1;
}

static long put_bytes(const char *path, const struct step *s, int flags,
		      int64_t off)
{
	int fd = open_regular(path, flags | O_WRONLY | O_CREAT);
	long rc;

	if (fd < 0)
		return -errno;
	step_fill(s, data);
	rc = off < 0 ? write(fd, data, s->n) : pwrite(fd, data, s->n, off);
	rc = result(rc);
	close(fd);
	return rc < 0 ? rc : 0;
}

static long read_sum(int fd, const struct step *s)
{
	long n = pread(fd, data, s->n, s->off);

	return n < 0 ? -errno : step_sum(data, n);
}

static long sum_bytes(const char *path, const struct step *s)
{
	int fd = open_regular(path, O_RDONLY);
	long rc;

	if (fd < 0)
		return -errno;
	rc = read_sum(fd, s);
	close(fd);
	return rc;
}

static long make_special(const char *path, const struct step *s)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		      0400 | (s->arg & 0377));

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static long cut(const char *path, const struct step *s)
{
	struct stat st;

	if (!stat(path, &st) && S_ISFIFO(st.st_mode))
		return -ENXIO;
	return result(truncate(path, s->off));
}

static long allocate(const char *path, const struct step *s, int mode)
{
	int fd = open_regular(path, O_WRONLY);
	long rc;

	if (fd < 0)
		return -errno;
	rc = result(fallocate(fd, mode, s->off, (off_t)s->n + 1));
	close(fd);
	return rc;
}

static long set_times(const char *path, const struct step *s)
{
	struct timespec t = {(time_t)s->arg, (long)(s->arg % 1000000000)};
	struct stat st;

	if (utimensat(AT_FDCWD, path, (struct timespec[]){t, t}, 0) ||
	    stat(path, &st))
		return -errno;
	return st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec % 1000;
}

static long set_attribute(const char *path, const struct step *s)
{
	char value[16];
	int n = snprintf(value, sizeof value, "%u", s->arg);

	return result(setxattr(path, step_attribute(s), value, (size_t)n,
			       (int)(s->arg / 2 % 3)));
}

static long get_attribute(const char *path, const struct step *s)
{
	long n = getxattr(path, step_attribute(s), data, sizeof data);

	return n < 0 ? -errno : step_sum(data, n);
}

static void let_go(struct model *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static long open_file(struct model *m, const char *path)
{
	let_go(m);
	m->fd = open_regular(path, O_RDWR);
	return m->fd < 0 ? -errno : 0;
}

/* Writes and reads what was opened, whatever became of its name. */
static long held(struct model *m, const struct step *s)
{
	struct stat st;

	if (m->fd < 0)
		return -EBADF;
	step_fill(s, data);
	if (pwrite(m->fd, data, s->n, s->off) < 0 || fstat(m->fd, &st))
		return -errno;
	return read_sum(m->fd, s) + (long)st.st_nlink + st.st_size;
}

static long stat_sum(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	return (long)st.st_mode * 1000 + (long)st.st_nlink +
	       (S_ISDIR(st.st_mode) ? 0 : st.st_size);
}

static long two_paths(const struct step *s, const char *a, const char *b)
{
	switch (s->kind) {
	case STEP_rename:
		return result(renameat2(AT_FDCWD, a, AT_FDCWD, b, 0));
	case STEP_exchange:
		return result(
			renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
	case STEP_noreplace:
		return result(
			renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE));
	default:
		return result(link(a, b));
	}
}

static long run_step(struct model *m, const struct step *s)
{
	char a[PATH_MAX], b[PATH_MAX], rel[32];

	step_path(s->a, rel, sizeof rel);
	snprintf(a, sizeof a, "%s/%s", m->root, rel);
	step_path(s->b, rel, sizeof rel);
	snprintf(b, sizeof b, "%s/%s", m->root, rel);
	switch ((enum step_kind)s->kind) {
	case STEP_mkdir:
		return result(mkdir(a, 0755));
	case STEP_put:
		return put_bytes(a, s, O_TRUNC, 0);
	case STEP_write:
		return put_bytes(a, s, 0, s->off);
	case STEP_append:
		return put_bytes(a, s, O_APPEND, -1);
	case STEP_cut:
		return cut(a, s);
	case STEP_read:
		return sum_bytes(a, s);
	case STEP_unlink:
		return result(unlink(a));
	case STEP_rmdir:
		return result(rmdir(a));
	case STEP_rename:
	case STEP_exchange:
	case STEP_noreplace:
	case STEP_link:
		return two_paths(s, a, b);
	case STEP_symlink:
		return result(symlink(step_target(s), b));
	case STEP_readlink:
		return result(readlink(a, data, sizeof data));
	case STEP_mode:
		return result(chmod(a, 0400 | (s->arg & 0377)));
	case STEP_owner:
		return result(chown(a, step_owner(s), step_owner(s)));
	case STEP_times:
		return set_times(a, s);
	case STEP_stat:
		return stat_sum(a);
	case STEP_create:
		return make_special(a, s);
	case STEP_fifo:
		return result(mkfifo(a, 0640));
	case STEP_reserve:
		return allocate(a, s, 0);
	case STEP_punch:
		return allocate(a, s,
				FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
	case STEP_set_attribute:
		return set_attribute(a, s);
	case STEP_get_attribute:
		return get_attribute(a, s);
	case STEP_drop_attribute:
		return result(removexattr(a, step_attribute(s)));
	case STEP_hold:
		return open_file(m, a);
	case STEP_held:
		return held(m, s);
	case STEP_KINDS:
		break;
	}
	return -ENOSYS;
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void clear(struct model *m)
{
	let_go(m);
	nftw(m->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	mkdir(m->root, 0755);
}

/* In the order of their names, as the library gives them. */
static void show_attributes(const char *path, struct buf *b)
{
	static const char *const names[] = {"user.one", "user.two"};
	char value[64];

	for (int i = 0; i < 2; i++) {
		ssize_t n = getxattr(path, names[i], value, sizeof value);

		if (n >= 0)
			buf_addf(b, "%s=%.*s ", names[i], (int)n, value);
	}
}

static void show_one(const char *path, struct buf *b)
{
	struct buf text = BUF_MAX(1 << 26);
	char hash[HASH_HEX], target[4096];
	struct stat st;
	ssize_t n;
	int fd;

	if (lstat(path, &st))
		return;
	buf_addf(b, " %o %u %u:%u %lld ", st.st_mode, (unsigned)st.st_nlink,
		 st.st_uid, st.st_gid,
		 S_ISDIR(st.st_mode) ? 0 : (long long)st.st_size);
	if (S_ISLNK(st.st_mode)) {
		n = readlink(path, target, sizeof target);
		buf_add(b, target, n > 0 ? (size_t)n : 0);
	} else if (S_ISREG(st.st_mode)) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		while ((n = read(fd, data, sizeof data)) > 0)
			buf_add(&text, data, (size_t)n);
		close(fd);
		hash_of(text.p, text.n, hash);
		buf_adds(b, hash);
	}
	if (!S_ISLNK(st.st_mode))
		show_attributes(path, b);
	buf_addc(b, '\n');
	buf_fini(&text);
}

static void show_directory(const char *dir, const char *rel, struct buf *b)
{
	struct dirent **list;
	int n = scandir(dir, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		char full[PATH_MAX], path[PATH_MAX];
		struct stat st;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			snprintf(full, sizeof full, "%s/%s", dir, name);
			snprintf(path, sizeof path, "%s/%s", rel, name);
			buf_adds(b, path);
			show_one(full, b);
			if (!lstat(full, &st) && S_ISDIR(st.st_mode))
				show_directory(full, path, b);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

static char *see(struct model *m)
{
	struct buf b = BUF_MAX(1 << 26);

	show_directory(m->root, "", &b);
	return buf_take(&b);
}

void model_directory(struct model *m, const char *name, const char *root)
{
	*m = (struct model){name, run_step, clear, see, .fd = -1};
	snprintf(m->root, sizeof m->root, "%s", root);
}

/* The file that was held is closed: its pages go to the mount then. */
static char *see_behind(struct model *m)
{
	int fd = open(m->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	let_go(m);
	if (fd < 0 || fsync(fd))
		abort();
	close(fd);
	return picture(m->v);
}

void model_mount(struct model *m, const char *root, struct vfs *v)
{
	model_directory(m, "mount", root);
	m->v = v;
	m->truth = see_behind;
}
