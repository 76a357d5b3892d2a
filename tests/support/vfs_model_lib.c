#include "tests/support/vfs_model.h"
#include "tests/support/vfs_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The library as a model. */

static char data[200000];

static void fill(const struct step *s)
{
	for (size_t i = 0; i < s->n; i++)
		data[i] = (char)((s->arg + i / (1 + s->arg % 7)) & 0x7f);
}

static long result(int rc, const struct err *e)
{
	return rc < 0 ? -err_errno(e->code) : rc;
}

static long put_bytes(struct vfs *v, const char *path, const struct step *s,
		      struct vfs_put put)
{
	struct err e;

	fill(s);
	return result(
		vfs_write_file(v, path, (struct blob){data, s->n}, &put, &e),
		&e);
}

/* As open(O_CREAT) and pwrite. */
static long write_at(struct vfs *v, const char *path, const struct step *s)
{
	struct vfs_put append = {.append = true};
	struct vfs_attr a;
	struct err e;

	if (vfs_write_file(v, path, (struct blob){0}, &append, &e) ||
	    vfs_walk(v, path, VFS_FOLLOW, &a, &e))
		return -err_errno(e.code);
	fill(s);
	return result(vfs_pwrite(v, a.ino, data, s->n, s->off, &e), &e);
}

static long set(struct vfs *v, const char *path, struct vfs_set how)
{
	struct vfs_attr a;
	struct err e;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, &e))
		return -err_errno(e.code);
	return result(vfs_setattr(v, a.ino, &how, &a, &e), &e);
}

static long sum_bytes(struct vfs *v, const char *path, const struct step *s)
{
	struct vfs_attr a;
	struct err e;
	unsigned long sum = 0;
	long n;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, &e))
		return -err_errno(e.code);
	n = vfs_pread(v, a.ino, data, s->n, s->off, &e);
	for (long i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)data[i];
	return n < 0 ? -err_errno(e.code) : (long)(sum & 0xffffffff) + n;
}

static long remove_as(struct vfs *v, const char *path, bool dir)
{
	struct vfs_place at;
	struct vfs_at here;
	struct err e;

	if (vfs_walk_place(v, path, &at, &e))
		return -err_errno(e.code);
	here = (struct vfs_at){at.dir, at.name};
	return result(dir ? vfs_rmdir(v, here, &e) : vfs_unlink(v, here, &e),
		      &e);
}

static long link_to(struct vfs *v, const char *a, const char *b)
{
	struct vfs_place at;
	struct vfs_attr attr;
	struct err e;

	if (vfs_walk(v, a, VFS_NOFOLLOW, &attr, &e) ||
	    vfs_walk_place(v, b, &at, &e))
		return -err_errno(e.code);
	return result(vfs_link(v, attr.ino, (struct vfs_at){at.dir, at.name},
			       &attr, &e),
		      &e);
}

static long read_link(struct vfs *v, const char *path)
{
	struct buf b = BUF_MAX(5000);
	struct vfs_attr a;
	struct err e;
	long n;

	if (vfs_walk(v, path, VFS_NOFOLLOW, &a, &e))
		return -err_errno(e.code);
	n = vfs_readlink(v, a.ino, &b, &e) ? -err_errno(e.code) : (long)b.n;
	buf_fini(&b);
	return n;
}

static long stat_sum(struct vfs *v, const char *path)
{
	struct vfs_attr a;
	struct err e;

	if (vfs_walk(v, path, VFS_NOFOLLOW, &a, &e))
		return -err_errno(e.code);
	return (long)a.mode * 1000 + (long)a.nlink +
	       (S_ISDIR(a.mode) ? 0 : a.size);
}

static long run(struct model *m, const struct step *s)
{
	static const char *const targets[] = {"a", "b/c", "a/../b", "c"};
	struct vfs *v = m->v;
	char a[32], b[32];
	struct err e;

	step_path(s->a, a, sizeof a);
	step_path(s->b, b, sizeof b);
	switch ((enum step_kind)s->kind) {
	case STEP_mkdir:
		return result(vfs_mkdir(v, a, 0755, false, &e), &e);
	case STEP_put:
		return put_bytes(v, a, s, (struct vfs_put){0});
	case STEP_write:
		return write_at(v, a, s);
	case STEP_append:
		return put_bytes(v, a, s, (struct vfs_put){.append = true});
	case STEP_cut:
		return set(
			v, a,
			(struct vfs_set){.what = VFS_SET_SIZE, .size = s->off});
	case STEP_read:
		return sum_bytes(v, a, s);
	case STEP_unlink:
	case STEP_rmdir:
		return remove_as(v, a, s->kind == STEP_rmdir);
	case STEP_rename:
		return result(vfs_move(v, a, b, 0, &e), &e);
	case STEP_exchange:
		return result(vfs_move(v, a, b, VFS_EXCHANGE, &e), &e);
	case STEP_noreplace:
		return result(vfs_move(v, a, b, VFS_NOREPLACE, &e), &e);
	case STEP_link:
		return link_to(v, a, b);
	case STEP_symlink:
		return result(vfs_symlink(v, targets[s->arg % 4], b, &e), &e);
	case STEP_readlink:
		return read_link(v, a);
	case STEP_mode:
		return set(v, a,
			   (struct vfs_set){.what = VFS_SET_MODE,
					    .mode = 0400 | (s->arg & 0377)});
	case STEP_stat:
		return stat_sum(v, a);
	case STEP_KINDS:
		break;
	}
	return -ENOSYS;
}

static void clear(struct model *m)
{
	struct vfs_dir d;
	struct err e;

	if (vfs_readdir(m->v, VFS_ROOT, &d, &e))
		return;
	for (size_t i = 0; i < d.n; i++)
		vfs_remove(m->v, d.entries[i].name, true, &e);
	vfs_dir_fini(&d);
}

static char *show(struct model *m)
{
	return picture(m->v);
}

void model_library(struct model *m, struct vfs *v)
{
	*m = (struct model){run, clear, show, v, ""};
}
