#include "tests/support/vfs_model.h"
#include "tests/support/vfs_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The library as a model. */

static char data[STEP_BYTES];

static long result(int rc, const struct err *e)
{
	return rc < 0 ? -err_errno(e->code) : rc;
}

/* What a path leads to, if it is a file: the kernel answers for the others. */
static long find_file(struct vfs *v, const char *path, struct vfs_attr *a)
{
	struct err e;

	if (vfs_walk(v, path, VFS_FOLLOW, a, &e))
		return -err_errno(e.code);
	return S_ISFIFO(a->mode) ? -ENXIO : 0;
}

static bool is_fifo(struct vfs *v, const char *path)
{
	struct vfs_attr a;

	return find_file(v, path, &a) == -ENXIO;
}

static long put_bytes(struct vfs *v, const char *path, const struct step *s,
		      struct vfs_put put)
{
	struct err e;

	if (is_fifo(v, path))
		return -ENXIO;
	step_fill(s, data);
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

	if (is_fifo(v, path))
		return -ENXIO;
	if (vfs_write_file(v, path, (struct blob){0}, &append, &e) ||
	    vfs_walk(v, path, VFS_FOLLOW, &a, &e))
		return -err_errno(e.code);
	step_fill(s, data);
	return result(vfs_pwrite(v, a.ino, data, s->n, s->off, &e), &e);
}

static long set_attr(struct vfs *v, const char *path, struct vfs_set how)
{
	struct vfs_attr a;
	struct err e;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, &e))
		return -err_errno(e.code);
	return result(vfs_setattr(v, a.ino, &how, &a, &e), &e);
}

static long cut(struct vfs *v, const char *path, int64_t size)
{
	if (is_fifo(v, path))
		return -ENXIO;
	return set_attr(v, path,
			(struct vfs_set){.what = VFS_SET_SIZE, .size = size});
}

static long read_sum(struct vfs *v, int64_t ino, const struct step *s)
{
	struct err e;
	long n = vfs_pread(v, ino, data, s->n, s->off, &e);

	return n < 0 ? -err_errno(e.code) : step_sum(data, n);
}

static long sum_bytes(struct vfs *v, const char *path, const struct step *s)
{
	struct vfs_attr a;
	long rc = find_file(v, path, &a);

	return rc ? rc : read_sum(v, a.ino, s);
}

static long make_node(struct vfs *v, const char *path, mode_t mode)
{
	struct vfs_new new = {.mode = mode, .uid = geteuid(), .gid = getegid()};
	struct vfs_place at;
	struct vfs_attr a;
	struct err e;

	if (vfs_walk_place(v, path, &at, &e))
		return -err_errno(e.code);
	return result(
		vfs_make(v, (struct vfs_at){at.dir, at.name}, &new, &a, &e),
		&e);
}

/* As a mount does fallocate(2). */
static long allocate(struct vfs *v, const char *path, const struct step *s)
{
	int64_t end = s->off + (int64_t)s->n + 1;
	struct vfs_attr a;
	struct err e;
	long rc = find_file(v, path, &a);

	if (rc == 0 && S_ISDIR(a.mode))
		rc = -EISDIR;
	if (rc)
		return rc;
	if (s->kind == STEP_reserve)
		return end <= a.size ? 0 : cut(v, path, end);
	if (end > a.size)
		end = a.size;
	if (s->off >= end)
		return 0;
	memset(data, 0, sizeof data);
	return result(
		vfs_pwrite(v, a.ino, data, (size_t)(end - s->off), s->off, &e),
		&e);
}

static long set_times(struct vfs *v, const char *path, const struct step *s)
{
	int64_t at = (int64_t)s->arg * 1000000000 + s->arg % 1000000000;
	struct vfs_set how = {.what = VFS_SET_ACCESSED | VFS_SET_MODIFIED,
			      .accessed = at,
			      .modified = at};
	struct vfs_attr a;
	struct err e;
	long rc = set_attr(v, path, how);

	if (rc || vfs_walk(v, path, VFS_FOLLOW, &a, &e))
		return rc;
	return a.modified / 1000000000 * 1000 + a.modified % 1000;
}

/* The kernel itself rejects user attributes on a pipe. */
static long attribute(struct vfs *v, const char *path, const struct step *s)
{
	const char *name = step_attribute(s);
	struct buf value = BUF_MAX(64);
	struct vfs_attr a;
	struct err e;
	long rc;

	if (vfs_walk(v, path, VFS_FOLLOW, &a, &e))
		return -err_errno(e.code);
	if (S_ISFIFO(a.mode))
		return s->kind == STEP_get_attribute ? -ENODATA : -EPERM;
	if (s->kind == STEP_drop_attribute)
		return result(vfs_rmxattr(v, a.ino, name, &e), &e);
	if (s->kind == STEP_set_attribute) {
		buf_addf(&value, "%u", s->arg);
		rc = result(vfs_setxattr(v, a.ino, name,
					 (struct blob){value.p, value.n},
					 (int)(s->arg / 2 % 3), &e),
			    &e);
	} else {
		rc = result(vfs_getxattr(v, a.ino, name, &value, &e), &e);
		if (rc == 0)
			rc = step_sum(value.p, (long)value.n);
	}
	buf_fini(&value);
	return rc;
}

static void let_go(struct model *m)
{
	if (m->ino)
		vfs_unref(m->v, m->ino, 1);
	m->ino = 0;
}

static long open_file(struct model *m, const char *path)
{
	struct vfs_attr a;
	long rc = find_file(m->v, path, &a);

	let_go(m);
	if (rc == 0 && S_ISDIR(a.mode))
		rc = -EISDIR;
	if (rc)
		return rc;
	m->ino = a.ino;
	vfs_ref(m->v, a.ino);
	return 0;
}

static long held(struct model *m, const struct step *s)
{
	struct vfs_attr a;
	struct err e;

	if (!m->ino)
		return -EBADF;
	step_fill(s, data);
	if (vfs_pwrite(m->v, m->ino, data, s->n, s->off, &e) ||
	    vfs_getattr(m->v, m->ino, &a, &e))
		return -err_errno(e.code);
	return read_sum(m->v, m->ino, s) + (long)a.nlink + a.size;
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

static long run_step(struct model *m, const struct step *s)
{
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
		return cut(v, a, s->off);
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
		return result(vfs_symlink(v, step_target(s), b, &e), &e);
	case STEP_readlink:
		return read_link(v, a);
	case STEP_mode:
		return set_attr(
			v, a,
			(struct vfs_set){.what = VFS_SET_MODE,
					 .mode = 0400 | (s->arg & 0377)});
	case STEP_owner:
		return set_attr(
			v, a,
			(struct vfs_set){.what = VFS_SET_UID | VFS_SET_GID,
					 .uid = step_owner(s),
					 .gid = step_owner(s)});
	case STEP_times:
		return set_times(v, a, s);
	case STEP_stat:
		return stat_sum(v, a);
	case STEP_create:
		return make_node(v, a, S_IFREG | 0400 | (s->arg & 0377));
	case STEP_fifo:
		return make_node(v, a, S_IFIFO | 0640);
	case STEP_reserve:
	case STEP_punch:
		return allocate(v, a, s);
	case STEP_set_attribute:
	case STEP_get_attribute:
	case STEP_drop_attribute:
		return attribute(v, a, s);
	case STEP_hold:
		return open_file(m, a);
	case STEP_held:
		return held(m, s);
	case STEP_KINDS:
		break;
	}
	return -ENOSYS;
}

static void clear(struct model *m)
{
	struct vfs_dir d;
	struct err e;

	let_go(m);
	if (vfs_readdir(m->v, VFS_ROOT, &d, &e))
		return;
	for (size_t i = 0; i < d.n; i++)
		vfs_remove(m->v, d.entries[i].name, true, &e);
	vfs_dir_fini(&d);
}

static char *show_namespace(struct model *m)
{
	return picture(m->v);
}

void model_library(struct model *m, struct vfs *v)
{
	*m = (struct model){"library",      run_step, clear,
			    show_namespace, .v = v,   .fd = -1};
}
