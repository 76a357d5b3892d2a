#include "vfs/core/core.h"

#include "lib/base/text.h"
#include "vfs/core/acl.h"
#include "vfs/core/lower.h"

#include <string.h>
#include <sys/stat.h>

/* Iterates over the attributes of a node; there are few, so finding one is a
 * scan. */
static int each(struct vfs *v, const struct node *n, const char *name,
		struct buf *out, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino), .snap = v->snap};
	struct vfs_xattr_row row;
	struct sql_rows it;
	int found = 0;

	if (!(n->flags & NODE_XATTR))
		return 0;
	it = sql_rows(v->db, v->snap ? Q_VFS_XATTR_LIST_AT : Q_VFS_XATTR_LIST,
		      &key);
	while (sql_next(&it, &row)) {
		if (!name) {
			buf_add(out, row.name.p, row.name.n);
			buf_addc(out, '\0');
		} else if (row.name.n == strlen(name) &&
			   !memcmp(row.name.p, name, row.name.n)) {
			found = 1;
			if (out)
				buf_add(out, row.value.p, row.value.n);
		}
	}
	return sql_end(&it, e) ? -1 : found;
}

static int no_attr(const char *name, struct err *e)
{
	return err_set(e, ERR_NOATTR, "there is no attribute %s",
		       quoted(name).text);
}

static int get_in(struct vfs *v, int64_t ino, const char *name, struct buf *out,
		  struct err *e)
{
	struct node n;
	int found;

	if (node_get(v, ino, &n, e))
		return -1;
	found = each(v, &n, name, out, e);
	if (found < 0)
		return -1;
	if (name && !found)
		return no_attr(name, e);
	return buf_ok(out, "the attributes", e);
}

int vfs_getxattr(struct vfs *v, int64_t ino, const char *name, struct buf *out,
		 struct err *e)
{
	if (tx_read(v, e))
		return -1;
	return tx_read_end(v, get_in(v, ino, name, out, e));
}

int vfs_listxattr(struct vfs *v, int64_t ino, struct buf *out, struct err *e)
{
	if (tx_read(v, e))
		return -1;
	return tx_read_end(v, get_in(v, ino, NULL, out, e));
}

/* Writes or, without a value, deletes the row. */
static int put_xattr(struct vfs *v, const struct node *n, const char *name,
		     const struct blob *value, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino),
			      .snap = v->keep,
			      .name = blob_text(name)};

	if (v->keep && n->ino < v->keep_next_ino &&
	    sql_exec(v->db, Q_VFS_UNDO_XATTR, &key, e) < 0)
		return -1;
	if (value)
		key.value = value->p ? *value : (struct blob){"", 0};
	return sql_exec(v->db, value ? Q_VFS_XATTR_PUT : Q_VFS_XATTR_DROP, &key,
			e) < 0
		       ? -1
		       : 0;
}

static int save_changed(struct vfs *v, struct node *n, struct err *e)
{
	node_touch(n, false);
	if (node_save(v, n, e))
		return -1;
	return journal_node(v, VFS_OP_attr, n, e);
}

static int change_xattr(struct vfs *v, struct node *n, const char *name,
			const struct blob *value, struct err *e)
{
	if (node_save_undo(v, n, e) || lower_keep_fingerprint(v, n, e) ||
	    put_xattr(v, n, name, value, e))
		return -1;
	if (value)
		n->flags |= NODE_XATTR;
	return save_changed(v, n, e);
}

/* An ACL sets the mode, and is stored only if it contains more than that: cp -p
 * and setfacl --remove-all write an ACL that does not. */
static int set_acl(struct vfs *v, struct node *n, bool is_there,
		   const struct blob *acl, struct err *e)
{
	int64_t bits;
	int plain = acl_bits(*acl, &bits, e);

	if (plain < 0 || node_save_undo(v, n, e) ||
	    lower_keep_fingerprint(v, n, e))
		return -1;
	n->mode = (n->mode & ~INT64_C(0777)) | bits;
	if (!plain)
		n->flags |= NODE_XATTR;
	if ((!plain || is_there) &&
	    put_xattr(v, n, ACL_ACCESS, plain ? NULL : acl, e))
		return -1;
	return save_changed(v, n, e);
}

int acl_follow_mode(struct vfs *v, const struct node *n, struct err *e)
{
	struct buf acl = BUF_MAX(VFS_XATTR_MAX);
	struct err invalid;
	int64_t bits;
	int rc = each(v, n, ACL_ACCESS, &acl, e);

	if (rc > 0) {
		struct blob value = {acl.p, acl.n};

		rc = 0;
		if (acl_bits(value, &bits, &invalid) >= 0 &&
		    bits != (n->mode & 0777)) {
			acl_set_bits(acl.p, acl.n, n->mode & 0777);
			rc = put_xattr(v, n, ACL_ACCESS, &value, e);
		}
	}
	buf_fini(&acl);
	return rc;
}

static int set_in(struct vfs *v, int64_t ino, const char *name,
		  struct blob value, int flags, struct err *e)
{
	struct node n;
	int found;

	if (node_get(v, ino, &n, e))
		return -1;
	found = each(v, &n, name, NULL, e);
	if (found < 0)
		return -1;
	if (found && flags & VFS_XATTR_CREATE)
		return err_set(e, ERR_CONFLICT, "attribute %s already exists",
			       quoted(name).text);
	if (!found && flags & VFS_XATTR_REPLACE)
		return no_attr(name, e);
	if (strcmp(name, ACL_ACCESS) == 0 && !S_ISLNK(n.mode))
		return set_acl(v, &n, found, &value, e);
	return change_xattr(v, &n, name, &value, e);
}

/* As file systems of the host: an attribute that these reject would be lost
 * when it is applied to them. */
static int check_name(const char *name, struct err *e)
{
	static const char *const spaces[] = {"user.", "trusted.", "security."};
	size_t n = strlen(name);

	if (n == 0 || n > VFS_NAME_MAX)
		return err_set(e, n ? ERR_LONGNAME : ERR_USAGE,
			       "the name of an attribute must have 1 to %d "
			       "bytes",
			       VFS_NAME_MAX);
	if (strcmp(name, ACL_ACCESS) == 0 || strcmp(name, ACL_DEFAULT) == 0)
		return 0;
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		size_t begin = strlen(spaces[i]);

		if (strncmp(name, spaces[i], begin) == 0)
			return n > begin ? 0
					 : err_set(e, ERR_USAGE,
						   "attribute %s has no name",
						   name);
	}
	return err_set(e, ERR_UNSUPPORTED,
		       "attribute %s: its name must begin with user., trusted. "
		       "or security.",
		       quoted(name).text);
}

int vfs_setxattr(struct vfs *v, int64_t ino, const char *name,
		 struct blob value, int flags, struct err *e)
{
	if (check_name(name, e))
		return -1;
	if (value.n > VFS_XATTR_MAX)
		return err_set(e, ERR_TOOBIG,
			       "an attribute is limited to %d bytes",
			       VFS_XATTR_MAX);
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, set_in(v, ino, name, value, flags, e), e);
}

static int rm_in(struct vfs *v, int64_t ino, const char *name, struct err *e)
{
	struct node n;
	int found;

	if (node_get(v, ino, &n, e))
		return -1;
	found = each(v, &n, name, NULL, e);
	if (found <= 0)
		return found < 0 ? -1 : no_attr(name, e);
	return change_xattr(v, &n, name, NULL, e);
}

int vfs_rmxattr(struct vfs *v, int64_t ino, const char *name, struct err *e)
{
	if (tx_begin(v, e))
		return -1;
	return tx_end(v, rm_in(v, ino, name, e), e);
}

int xattr_drop_all(struct vfs *v, struct node *n, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino), .snap = v->keep};

	if (!(n->flags & NODE_XATTR))
		return 0;
	if (v->keep && n->ino < v->keep_next_ino &&
	    sql_exec(v->db, Q_VFS_UNDO_XATTRS, &key, e) < 0)
		return -1;
	return sql_exec(v->db, Q_VFS_XATTR_DROP_ALL, &key, e) < 0 ? -1 : 0;
}
