#include "tests/support/vfs_model.h"

#include "base/buf.h"
#include "base/hash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory of the host, or of a mount, as a model. */

static char data[200000];

static void fill(const struct step *s)
{
	for (size_t i = 0; i < s->n; i++)
		data[i] = (char)((s->arg + i / (1 + s->arg % 7)) & 0x7f);
}

static long result(long rc)
{
	return rc < 0 ? -errno : rc;
}

static long put_bytes(const char *path, const struct step *s, int flags,
		      int64_t off)
{
	int fd = open(path, flags | O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	long rc;

	if (fd < 0)
		return -errno;
	fill(s);
	rc = off < 0 ? write(fd, data, s->n) : pwrite(fd, data, s->n, off);
	rc = result(rc);
	close(fd);
	return rc < 0 ? rc : 0;
}

static long sum_bytes(const char *path, const struct step *s)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned long sum = 0;
	long n;

	if (fd < 0)
		return -errno;
	n = pread(fd, data, s->n, s->off);
	for (long i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)data[i];
	close(fd);
	return n < 0 ? -errno : (long)(sum & 0xffffffff) + n;
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

static long make_link(const struct step *s, const char *b)
{
	static const char *const targets[] = {"a", "b/c", "a/../b", "c"};

	return result(symlink(targets[s->arg % 4], b));
}

static long run(struct model *m, const struct step *s)
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
		return result(truncate(a, s->off));
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
		return make_link(s, b);
	case STEP_readlink:
		return result(readlink(a, data, sizeof data));
	case STEP_mode:
		return result(chmod(a, 0400 | (s->arg & 0377)));
	case STEP_stat:
		return stat_sum(a);
	case STEP_KINDS:
		break;
	}
	return -ENOSYS;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void clear(struct model *m)
{
	nftw(m->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	mkdir(m->root, 0755);
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
	buf_addf(b, " %o %u %lld ", st.st_mode, (unsigned)st.st_nlink,
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
	buf_addc(b, '\n');
	buf_fini(&text);
}

static void show(const char *dir, const char *rel, struct buf *b)
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
				show(full, path, b);
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

static char *picture(struct model *m)
{
	struct buf b = BUF_MAX(1 << 26);

	show(m->root, "", &b);
	return buf_take(&b);
}

void model_directory(struct model *m, const char *root)
{
	*m = (struct model){run, clear, picture, NULL, ""};
	snprintf(m->root, sizeof m->root, "%s", root);
}
