#include "vfs/core/core.h"

#include "lib/base/text.h"

#include <string.h>
#include <sys/stat.h>

/* Everything that a rename changes. If both directories are the same, `to_dir`
 * is not used, so that no node is in memory twice. */
struct move {
	struct vfs_at from, to;
	struct node node, other; /* the moved node, and the one it replaces */
	struct node from_dir, to_dir;
	bool has_other, same_dir;
};

static bool is_dir(const struct node *n)
{
	return S_ISDIR(n->mode);
}

/* Whether `dir` is the node, or below it: 1, 0, -1. */
static int is_inside(struct vfs *v, const struct node *n, int64_t dir,
		     struct err *e)
{
	int64_t mark = 0; /* met again only in a damaged file */
	struct node up;

	for (unsigned steps = 1; is_dir(n) && dir != VFS_ROOT; steps++) {
		if (dir == n->ino)
			return 1;
		if (dir == mark)
			return within_itself(dir, e);
		if (!(steps & (steps - 1)))
			mark = dir;
		if (node_get(v, dir, &up, e))
			return -1;
		dir = up.parent;
	}
	return 0;
}

static int check_cycle(struct vfs *v, const struct node *n, int64_t dir,
		       struct err *e)
{
	int inside = is_inside(v, n, dir, e);

	if (inside > 0)
		return err_set(e, ERR_USAGE, "%s cannot be moved into itself",
			       quoted(n->name).text);
	return inside;
}

static int check_way(struct vfs *v, struct move *m, struct err *e)
{
	struct node dir;
	int any = is_inside(v, &m->other, m->from.dir, e);

	if (any)
		return any < 0 ? -1
			       : err_set(e, ERR_NOTEMPTY, "%s is not empty",
					 quoted(m->to.name).text);
	if (is_dir(&m->node) && !is_dir(&m->other))
		return err_set(e, ERR_NOTDIR, "%s is not a directory",
			       quoted(m->to.name).text);
	if (!is_dir(&m->node) && is_dir(&m->other))
		return err_set(e, ERR_ISDIR, "%s is a directory",
			       quoted(m->to.name).text);
	if (!is_dir(&m->other))
		return 0;
	if (dir_get(v, m->other.ino, &dir, e))
		return -1;
	m->other = dir;
	any = dentry_any(v, m->other.ino, e);
	if (any > 0)
		return err_set(e, ERR_NOTEMPTY, "%s is not empty",
			       quoted(m->to.name).text);
	return any;
}

static int load(struct vfs *v, struct move *m, struct err *e)
{
	int found;

	if (name_check(m->from.name, e) || name_check(m->to.name, e) ||
	    dir_get(v, m->from.dir, &m->from_dir, e) ||
	    node_lookup(v, m->from, &m->node, e))
		return -1;
	m->same_dir = m->from.dir == m->to.dir;
	if (!m->same_dir && dir_get(v, m->to.dir, &m->to_dir, e))
		return -1;
	if (!m->same_dir && m->to_dir.nlink == 0)
		return err_set(e, ERR_NOTFOUND, "the directory was removed");
	found = node_child(v, m->to, &m->other, e);
	m->has_other = found > 0;
	return found < 0 ? -1 : 0;
}

static int put_at(struct vfs *v, struct node *n, struct vfs_at at,
		  struct err *e)
{
	if (node_save_undo(v, n, e) || dentry_put(v, at, n, e))
		return -1;
	node_place(n, at);
	node_touch(n, false);
	return node_save(v, n, e);
}

static int save_dirs(struct vfs *v, struct move *m, int64_t from, int64_t to,
		     struct err *e)
{
	if (m->same_dir)
		return dir_changed(v, &m->from_dir, from + to, e);
	return dir_changed(v, &m->from_dir, from, e) ||
			       dir_changed(v, &m->to_dir, to, e)
		       ? -1
		       : 0;
}

static int journal_move(struct vfs *v, const struct move *m, struct err *e)
{
	return journal_add(v, VFS_OP_move_from, m->from, m->node.ino, e) ||
			       journal_add(v, VFS_OP_move_to, m->to,
					   m->node.ino, e)
		       ? -1
		       : 0;
}

static int exchange(struct vfs *v, struct move *m, struct err *e)
{
	int64_t shift = is_dir(&m->other) - is_dir(&m->node);

	if (!m->has_other)
		return err_set(e, ERR_NOTFOUND, "%s does not exist",
			       quoted(m->to.name).text);
	if (m->node.ino == m->other.ino)
		return 0;
	if (check_cycle(v, &m->node, m->to.dir, e) ||
	    check_cycle(v, &m->other, m->from.dir, e) ||
	    dentry_drop(v, m->from, &m->node, e) ||
	    dentry_drop(v, m->to, &m->other, e) ||
	    put_at(v, &m->node, m->to, e) || put_at(v, &m->other, m->from, e) ||
	    save_dirs(v, m, shift, -shift, e))
		return -1;
	return journal_move(v, m, e);
}

static int clear_way(struct vfs *v, struct move *m, struct err *e)
{
	if (!m->has_other)
		return 0;
	if (check_way(v, m, e) || dentry_drop(v, m->to, &m->other, e))
		return -1;
	return one_link_less(v, &m->other, e);
}

static int move_node(struct vfs *v, struct move *m, unsigned flags,
		     struct err *e)
{
	int64_t dirs = is_dir(&m->node);

	if (m->has_other && flags & VFS_NOREPLACE)
		return err_set(e, ERR_CONFLICT, "%s already exists",
			       quoted(m->to.name).text);
	if (m->has_other && m->node.ino == m->other.ino)
		return 0; /* two names of one node: as in rename(2) */
	if (check_cycle(v, &m->node, m->to.dir, e) || clear_way(v, m, e) ||
	    dentry_drop(v, m->from, &m->node, e) ||
	    put_at(v, &m->node, m->to, e) ||
	    save_dirs(v, m, -dirs, m->has_other ? 0 : dirs, e))
		return -1;
	return journal_move(v, m, e);
}

static int rename_in(struct vfs *v, struct move *m, unsigned flags,
		     struct err *e)
{
	if (load(v, m, e))
		return -1;
	return flags & VFS_EXCHANGE ? exchange(v, m, e)
				    : move_node(v, m, flags, e);
}

int vfs_rename(struct vfs *v, struct vfs_at from, struct vfs_at to,
	       unsigned flags, struct err *e)
{
	struct move m = {.from = from, .to = to};

	if (flags & ~(VFS_NOREPLACE | VFS_EXCHANGE) ||
	    flags == (VFS_NOREPLACE | VFS_EXCHANGE))
		return err_set(e, ERR_USAGE,
			       "these flags cannot be used together");
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, rename_in(v, &m, flags, e), e);
}
