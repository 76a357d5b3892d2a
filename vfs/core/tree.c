#include "vfs/core/core.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "vfs/core/fork_fill.h"
#include "vfs/core/lower.h"

#include <string.h>
#include <sys/stat.h>

int name_check(const char *name, struct err *e)
{
	size_t n = strlen(name);

	if (n > VFS_NAME_MAX)
		return err_set(e, ERR_LONGNAME,
			       "the name %s is longer than %d bytes",
			       quoted(name).text, VFS_NAME_MAX);
	if (n == 0 || strchr(name, '/') || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return err_set(e, ERR_USAGE, "'%s' is not a valid name",
			       quoted(name).text);
	return 0;
}

static int not_found(struct vfs_at at, struct err *e)
{
	return err_set(e, ERR_NOTFOUND, "%s does not exist",
		       quoted(at.name).text);
}

static int is_there(struct vfs_at at, struct err *e)
{
	return err_set(e, ERR_CONFLICT, "%s already exists",
		       quoted(at.name).text);
}

/* Opens a directory for access: its lower directory, or the directory that a fork
 * shares with its parent, is read first. */
int dir_get(struct vfs *v, int64_t ino, struct node *out, struct err *e)
{
	if (node_get(v, ino, out, e))
		return -1;
	if (!S_ISDIR(out->mode))
		return err_set(e, ERR_NOTDIR, "%s is not a directory",
			       quoted(out->name).text);
	if (v->source)
		return fork_fill(v, ino, e);
	return out->flags & NODE_UNSEEN ? lower_fill(v, out, e) : 0;
}

int node_lookup(struct vfs *v, struct vfs_at at, struct node *out,
		struct err *e)
{
	struct node dir;
	int found, unread;

	if (strlen(at.name) > VFS_NAME_MAX)
		return name_check(at.name, e);
	found = node_child(v, at, out, e);
	if (found)
		return found < 0 ? -1 : 0;
	/* to report why: no such directory, not a directory, or no such name */
	if (node_get(v, at.dir, &dir, e))
		return -1;
	unread = fork_is_unread(v, at.dir, e);
	if (unread < 0)
		return -1;
	if (S_ISDIR(dir.mode) && !(dir.flags & NODE_UNSEEN) && !unread)
		return not_found(at, e);
	if (dir_get(v, at.dir, &dir, e))
		return -1;
	found = node_child(v, at, out, e);
	if (found)
		return found < 0 ? -1 : 0;
	return not_found(at, e);
}

int vfs_lookup(struct vfs *v, struct vfs_at at, struct vfs_attr *out,
	       struct err *e)
{
	struct node n;

	if (tx_read(v, e))
		return -1;
	if (tx_read_end(v, node_lookup(v, at, &n, e)))
		return -1;
	node_attr(&n, out);
	return 0;
}

int vfs_getattr(struct vfs *v, int64_t ino, struct vfs_attr *out, struct err *e)
{
	struct node n;

	if (tx_read(v, e))
		return -1;
	if (tx_read_end(v, node_get(v, ino, &n, e)))
		return -1;
	node_attr(&n, out);
	return 0;
}

/* An entry of the directory was added or removed. */
int dir_changed(struct vfs *v, struct node *dir, int64_t subdirs, struct err *e)
{
	if (node_save_undo(v, dir, e))
		return -1;
	dir->nlink += subdirs;
	node_touch(dir, true);
	return node_save(v, dir, e);
}

void node_place(struct node *n, struct vfs_at at)
{
	n->parent = at.dir;
	memcpy(n->name, at.name, strlen(at.name) + 1);
}

static int check_free(struct vfs *v, struct vfs_at at, struct node *dir,
		      struct err *e)
{
	int64_t ino;
	int found;

	if (name_check(at.name, e) || dir_get(v, at.dir, dir, e))
		return -1;
	if (dir->nlink == 0)
		return err_set(e, ERR_NOTFOUND, "the directory was removed");
	found = dentry_get(v, at, &ino, NULL, e);
	if (found)
		return found < 0 ? -1 : is_there(at, e);
	return 0;
}

int node_make(struct vfs *v, struct vfs_at at, const struct vfs_new *want,
	      struct node *n, struct err *e)
{
	bool is_dir = S_ISDIR(want->mode);
	struct node dir;

	if (check_free(v, at, &dir, e))
		return -1;
	*n = (struct node){
		.mode = want->mode,
		.nlink = is_dir ? 2 : 1,
		.uid = want->uid,
		.gid = dir.mode & S_ISGID ? dir.gid : want->gid,
		.size = want->target ? (int64_t)strlen(want->target) : 0,
		.rdev = (int64_t)want->rdev,
		.blob = OPT_NONE,
		.lower_size = OPT_NONE,
	};
	if (is_dir && dir.mode & S_ISGID)
		n->mode |= S_ISGID;
	n->accessed = n->modified = n->changed = n->created = clock_now_ns();
	node_place(n, at);
	if (quota_reserve(v, n->size, 1, e) ||
	    node_add(v, n, want->target, e) || dentry_put(v, at, n, e) ||
	    dir_changed(v, &dir, is_dir, e))
		return -1;
	return journal_add(v, VFS_OP_create, at, n->ino, e);
}

static int check_new(const struct vfs_new *n, struct err *e)
{
	bool link = S_ISLNK(n->mode);

	if (link && (!n->target || !*n->target))
		return err_set(e, ERR_NOTFOUND,
			       "a symbolic link needs a target");
	if (link && strlen(n->target) >= 4096)
		return err_set(e, ERR_LONGNAME,
			       "the target of a link is limited to 4095 "
			       "bytes");
	if (!link && n->target)
		return err_set(e, ERR_USAGE,
			       "only a symbolic link has a target");
	return 0;
}

int vfs_make(struct vfs *v, struct vfs_at at, const struct vfs_new *n,
	     struct vfs_attr *out, struct err *e)
{
	struct node node;

	if (check_new(n, e) || tx_begin(v, e))
		return -1;
	if (tx_end(v, node_make(v, at, n, &node, e), e))
		return -1;
	node_attr(&node, out);
	return 0;
}

static int nameless_in(struct vfs *v, const struct vfs_new *want,
		       struct node *n, struct err *e)
{
	*n = (struct node){
		.mode = want->mode,
		.uid = want->uid,
		.gid = want->gid,
		.parent = VFS_ROOT,
		.blob = OPT_NONE,
		.lower_size = OPT_NONE,
	};
	n->accessed = n->modified = n->changed = n->created = clock_now_ns();
	if (quota_reserve(v, 0, 1, e) || node_add(v, n, NULL, e))
		return -1;
	vfs_ref(v, n->ino);
	return orphan_is_open(v, n->ino, e) < 0 ? -1 : 0;
}

int vfs_make_nameless(struct vfs *v, const struct vfs_new *n,
		      struct vfs_attr *out, struct err *e)
{
	struct node node;

	if (tx_begin(v, e))
		return -1;
	if (tx_end(v, nameless_in(v, n, &node, e), e))
		return -1;
	node_attr(&node, out);
	return 0;
}

static int link_in(struct vfs *v, int64_t ino, struct vfs_at at, struct node *n,
		   struct err *e)
{
	struct node dir;

	if (node_get(v, ino, n, e) || check_free(v, at, &dir, e))
		return -1;
	if (S_ISDIR(n->mode))
		return err_set(e, ERR_NOTALLOWED,
			       "a directory cannot have a second hard link");
	if (n->nlink == 0) {
		/* the kernel asks only for a file that never had a name */
		if (!node_refs_count(&v->held, n->ino))
			return not_found(at, e);
		node_place(n, at);
	}
	if (node_save_undo(v, n, e) || dentry_put(v, at, n, e))
		return -1;
	n->nlink++;
	node_touch(n, false);
	if (node_save(v, n, e) || dir_changed(v, &dir, 0, e))
		return -1;
	return journal_add(v, VFS_OP_link, at, ino, e);
}

int vfs_link(struct vfs *v, int64_t ino, struct vfs_at at, struct vfs_attr *out,
	     struct err *e)
{
	struct node n;

	if (tx_begin(v, e))
		return -1;
	if (tx_end(v, link_in(v, ino, at, &n, e), e))
		return -1;
	node_attr(&n, out);
	return 0;
}

/* A name of the node was removed; with its last name the node is deleted,
 * unless it is held. */
int one_link_less(struct vfs *v, struct node *n, struct err *e)
{
	int held;

	n->nlink = S_ISDIR(n->mode) ? 0 : n->nlink - 1;
	if (n->nlink == 0) {
		held = orphan_is_open(v, n->ino, e);
		if (held <= 0)
			return held < 0 ? -1 : node_drop(v, n, e);
	}
	if (node_save_undo(v, n, e))
		return -1;
	node_touch(n, false);
	return node_save(v, n, e);
}

static int check_removal(struct vfs *v, struct vfs_at at, struct node *n,
			 bool want_dir, struct err *e)
{
	bool is_dir = S_ISDIR(n->mode);
	struct node dir;
	int any;

	if (is_dir && !want_dir)
		return err_set(e, ERR_ISDIR, "%s is a directory",
			       quoted(at.name).text);
	if (!is_dir && want_dir)
		return err_set(e, ERR_NOTDIR, "%s is not a directory",
			       quoted(at.name).text);
	if (!is_dir)
		return 0;
	if (dir_get(v, n->ino, &dir, e))
		return -1;
	*n = dir;
	any = dentry_any(v, n->ino, e);
	if (any > 0)
		return err_set(e, ERR_NOTEMPTY, "%s is not empty",
			       quoted(at.name).text);
	return any;
}

int node_remove(struct vfs *v, struct vfs_at at, struct node *n, bool want_dir,
		struct err *e)
{
	struct node dir;
	int64_t ino = n->ino;

	if (check_removal(v, at, n, want_dir, e) ||
	    dir_get(v, at.dir, &dir, e) || dentry_drop(v, at, n, e) ||
	    one_link_less(v, n, e) ||
	    dir_changed(v, &dir, want_dir ? -1 : 0, e))
		return -1;
	return journal_add(v, VFS_OP_remove, at, ino, e);
}

static int remove_in(struct vfs *v, struct vfs_at at, bool want_dir,
		     struct err *e)
{
	struct node n = {0};

	if (node_lookup(v, at, &n, e))
		return -1;
	return node_remove(v, at, &n, want_dir, e);
}

int vfs_unlink(struct vfs *v, struct vfs_at at, struct err *e)
{
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, remove_in(v, at, false, e), e);
}

int vfs_rmdir(struct vfs *v, struct vfs_at at, struct err *e)
{
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, remove_in(v, at, true, e), e);
}
