#include "vfs/core/xattr_list.h"

#include "vfs/core/core.h"

#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#define LIST_MAX ((size_t)16 << 20)

bool xattr_is_portable(const char *name)
{
	return strncmp(name, "user.", 5) == 0 ||
	       strncmp(name, "system.posix_acl_", 17) == 0 ||
	       strcmp(name, "security.capability") == 0;
}

/* Name, NUL, length of the value, value. */
static void add_xattr(struct buf *out, const char *name, const void *p,
		      size_t n)
{
	uint32_t len = (uint32_t)n;

	buf_add(out, name, strlen(name) + 1);
	buf_add(out, &len, sizeof len);
	if (n)
		buf_add(out, p, n);
}

bool xattrs_next(const struct buf *list, size_t *at, struct xattr *out)
{
	uint32_t len;

	if (*at >= list->n)
		return false;
	out->name = list->p + *at;
	*at += strlen(out->name) + 1;
	memcpy(&len, list->p + *at, sizeof len);
	out->value = (struct blob){list->p + *at + sizeof len, len};
	*at += sizeof len + len;
	return true;
}

static bool has(const struct buf *list, const char *name)
{
	struct xattr x;

	for (size_t at = 0; xattrs_next(list, &at, &x);)
		if (strcmp(x.name, name) == 0)
			return true;
	return false;
}

int xattrs_of_node(struct vfs *v, const struct node *n, bool portable,
		   struct buf *out, struct err *e)
{
	struct buf names = BUF_MAX(LIST_MAX), value = BUF_MAX(LIST_MAX);
	int rc = 0;

	if (n->flags & NODE_XATTR)
		rc = vfs_listxattr(v, n->ino, &names, e);
	for (size_t at = 0; rc == 0 && at < names.n;
	     at += strlen(names.p + at) + 1) {
		if (portable && !xattr_is_portable(names.p + at))
			continue;
		buf_clear(&value);
		rc = vfs_getxattr(v, n->ino, names.p + at, &value, e);
		if (rc == 0)
			add_xattr(out, names.p + at, value.p, value.n);
	}
	buf_fini(&names);
	buf_fini(&value);
	return rc ? -1 : buf_ok(out, "the attributes", e);
}

int xattrs_to_node(struct vfs *v, int64_t ino, const struct buf *want,
		   struct err *e)
{
	struct buf names = BUF_MAX(LIST_MAX);
	struct xattr x;
	int rc = vfs_listxattr(v, ino, &names, e);

	for (size_t at = 0; rc == 0 && at < names.n;
	     at += strlen(names.p + at) + 1)
		if (!has(want, names.p + at))
			rc = vfs_rmxattr(v, ino, names.p + at, e);
	for (size_t at = 0; rc == 0 && xattrs_next(want, &at, &x);)
		rc = vfs_setxattr(v, ino, x.name, x.value, 0, e);
	buf_fini(&names);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The portable names of a listxattr(2) result, sorted: how many. */
static size_t sort_names(char *list, size_t n, const char **out, size_t max)
{
	size_t found = 0;

	for (char *p = list; p < list + n && found < max; p += strlen(p) + 1)
		if (xattr_is_portable(p))
			out[found++] = p;
	qsort(out, found, sizeof *out, by_name);
	return found;
}

/* A filesystem without attributes has none. */
static int failed(const char *path, struct err *e)
{
	return errno == ENOTSUP || errno == ENODATA
		       ? 0
		       : err_errno_set(e, "the attributes of %s", path);
}

int xattrs_of_host(const char *path, struct buf *out, struct err *e)
{
	char list[XATTR_LIST_MAX], *room;
	const char *names[XATTR_LIST_MAX / 8];
	ssize_t n = llistxattr(path, list, sizeof list), got;
	size_t count;
	int rc = 0;

	if (n <= 0)
		return n < 0 ? failed(path, e) : 0;
	room = malloc(XATTR_SIZE_MAX);
	if (!room)
		abort();
	count = sort_names(list, (size_t)n, names,
			   sizeof names / sizeof *names);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		got = lgetxattr(path, names[i], room, XATTR_SIZE_MAX);
		if (got >= 0)
			add_xattr(out, names[i], room, (size_t)got);
		else
			rc = failed(path, e);
	}
	free(room);
	return rc ? -1 : buf_ok(out, "the attributes", e);
}

/* Without root, capabilities cannot be set; cp does the same. */
static bool may_fail(const char *name)
{
	return errno == EPERM && strncmp(name, "security.", 9) == 0;
}

int xattrs_to_host(const char *path, const struct buf *want, struct err *e)
{
	struct buf now = BUF_MAX(LIST_MAX);
	struct xattr x;
	int rc = xattrs_of_host(path, &now, e);

	for (size_t at = 0; rc == 0 && xattrs_next(&now, &at, &x);)
		if (!has(want, x.name) && lremovexattr(path, x.name) &&
		    !may_fail(x.name))
			rc = err_errno_set(e, "attribute %s", x.name);
	for (size_t at = 0; rc == 0 && xattrs_next(want, &at, &x);)
		if (lsetxattr(path, x.name, x.value.p, x.value.n, 0) &&
		    !may_fail(x.name))
			rc = err_errno_set(e, "attribute %s", x.name);
	buf_fini(&now);
	return rc;
}
