#include "vfs/core/core.h"

#include "lib/base/text.h"
#include "vfs/core/lower.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A change of the owner clears the set-id bits of a program. */
static void kill_set_id(struct node *n)
{
	if (!S_ISREG(n->mode))
		return;
	n->mode &= ~S_ISUID;
	if (n->mode & S_IXGRP)
		n->mode &= ~S_ISGID;
}

static void set_fields(struct node *n, const struct vfs_set *set)
{
	if (set->what & (VFS_SET_UID | VFS_SET_GID))
		kill_set_id(n);
	if (set->what & VFS_SET_MODE)
		n->mode = (n->mode & S_IFMT) | (set->mode & 07777);
	if (set->what & VFS_SET_UID)
		n->uid = set->uid;
	if (set->what & VFS_SET_GID)
		n->gid = set->gid;
	if (set->what & VFS_SET_CHANGED && set->changed > n->changed)
		n->changed = set->changed;
	else
		node_touch(n, false);
	if (set->what & VFS_SET_ACCESSED)
		n->accessed = set->accessed;
	if (set->what & VFS_SET_MODIFIED)
		n->modified = set->modified;
}

static int check_size(const struct node *n, struct err *e)
{
	if (S_ISREG(n->mode))
		return 0;
	return err_set(e, S_ISDIR(n->mode) ? ERR_ISDIR : ERR_USAGE,
		       "%s is not a regular file", quoted(n->name).text);
}

static int setattr_in(struct vfs *v, int64_t ino, const struct vfs_set *set,
		      struct node *n, struct err *e)
{
	bool size = set->what & VFS_SET_SIZE;

	if (node_get(v, ino, n, e) || (size && check_size(n, e)) ||
	    node_save_undo(v, n, e))
		return -1;
	if (size && data_truncate(v, n, set->size, e))
		return -1;
	if (set->what & (VFS_SET_MODE | VFS_SET_UID | VFS_SET_GID) &&
	    lower_keep_fingerprint(v, n, e))
		return -1;
	set_fields(n, set);
	if (set->what & VFS_SET_MODE && acl_follow_mode(v, n, e))
		return -1;
	if (node_save(v, n, e))
		return -1;
	if (!(set->what & (unsigned)~VFS_SET_TIMES))
		return journal_times(v, n, e);
	return journal_node(v, size ? VFS_OP_write : VFS_OP_attr, n, e);
}

int vfs_setattr(struct vfs *v, int64_t ino, const struct vfs_set *set,
		struct vfs_attr *out, struct err *e)
{
	struct node n;

	if (tx_begin(v, e))
		return -1;
	if (tx_end(v, setattr_in(v, ino, set, &n, e), e))
		return -1;
	node_attr(&n, out);
	return 0;
}

static int set_accessed_in(struct vfs *v, int64_t ino, int64_t at,
			   struct err *e)
{
	struct node n;
	int found = node_find(v, ino, &n, e);

	if (found <= 0)
		return found; /* deleted meanwhile */
	n.accessed = at;
	return node_save(v, &n, e);
}

int vfs_set_accessed(struct vfs *v, int64_t ino, int64_t at, struct err *e)
{
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, set_accessed_in(v, ino, at, e), e);
}

static int readlink_in(struct vfs *v, int64_t ino, struct buf *out,
		       struct err *e)
{
	struct vfs_key key = {.id = id_of(v, ino), .snap = v->snap};
	struct sql_rows it;
	struct vfs_link_get_row row;
	struct node n;

	if (node_get(v, ino, &n, e))
		return -1;
	if (!S_ISLNK(n.mode))
		return err_set(e, ERR_USAGE, "%s is not a symbolic link",
			       quoted(n.name).text);
	it = sql_rows(v->db, v->snap ? Q_VFS_LINK_AT : Q_VFS_LINK_GET, &key);
	if (sql_next(&it, &row))
		buf_add(out, row.target.p, row.target.n);
	if (sql_end(&it, e))
		return -1;
	return buf_ok(out, "the target of a link", e);
}

int vfs_readlink(struct vfs *v, int64_t ino, struct buf *out, struct err *e)
{
	if (tx_read(v, e))
		return -1;
	return tx_read_end(v, readlink_in(v, ino, out, e));
}

static void add_entry(struct vfs_dir *d, size_t *cap,
		      const struct vfs_dentry_row *row)
{
	if (d->n == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		d->entries = realloc(d->entries, *cap * sizeof *d->entries);
		if (!d->entries)
			abort();
	}
	d->entries[d->n++] = (struct vfs_entry){
		.ino = row->ino,
		.type = (unsigned)row->type,
		.name = arena_textn(&d->mem, row->name.p, row->name.n),
	};
}

static int readdir_in(struct vfs *v, int64_t dir, struct vfs_dir *out,
		      struct err *e)
{
	struct vfs_key key = {.id = id_of(v, dir), .snap = v->snap};
	struct node n;
	struct sql_rows it;
	struct vfs_dentry_row row;
	size_t cap = 0;

	if (dir_get(v, dir, &n, e))
		return -1;
	it = sql_rows(v->db, v->snap ? Q_VFS_DENTRY_LIST_AT : Q_VFS_DENTRY_LIST,
		      &key);
	while (sql_next(&it, &row))
		add_entry(out, &cap, &row);
	return sql_end(&it, e);
}

int vfs_readdir(struct vfs *v, int64_t dir, struct vfs_dir *out, struct err *e)
{
	int rc;

	*out = (struct vfs_dir){0};
	if (tx_read(v, e))
		return -1;
	rc = tx_read_end(v, readdir_in(v, dir, out, e));
	if (rc)
		vfs_dir_fini(out);
	return rc;
}

void vfs_dir_fini(struct vfs_dir *d)
{
	arena_fini(&d->mem);
	free(d->entries);
	*d = (struct vfs_dir){0};
}
