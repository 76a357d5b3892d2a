/*
 * Operations on a namespace for programs that have only its mount: attributes
 * of the root directory that are commands.
 *
 *   setfattr -n user.skep.snapshot -v NAME DIR   creates a snapshot
 *   getfattr -n user.skep.diff.NAME DIR          changes since a snapshot
 *   getfattr -n user.skep.diff DIR               … since the lower directory
 *   getfattr -n user.skep.seen DIR               1 if the mount shows all changes
 *                                                of other processes, 0: soon
 *
 * A difference is cut at the maximum length of an attribute.
 */
#include "vfs/core/core.h"
#include "vfs/fuse/internal.h"
#include "vfs/snapshot/diff.h"
#include "vfs/snapshot/snapshot.h"

#include <limits.h>
#include <string.h>

#define SNAPSHOT "user.skep.snapshot"
#define DIFF     "user.skep.diff"
#define SEEN     "user.skep.seen"

static bool is_diff(const char *name)
{
	size_t n = strlen(DIFF);

	return strncmp(name, DIFF, n) == 0 &&
	       (name[n] == '\0' || (name[n] == '.' && name[n + 1]));
}

static int get_seen(struct mnt *m, struct buf *out, struct err *e)
{
	int seen = mnt_look(m, e);

	if (seen < 0)
		return -1;
	buf_addc(out, seen ? '1' : '0');
	return 1;
}

int mnt_control_get(struct mnt *m, int64_t ino, const char *name,
		    struct buf *out, struct err *e)
{
	if (ino == VFS_ROOT && strcmp(name, SEEN) == 0)
		return get_seen(m, out, e);
	if (ino != VFS_ROOT || !is_diff(name))
		return 0;
	name += strlen(DIFF);
	if (mnt_commit(m, e) || vfs_diff_since(m->v, name[0] ? name + 1 : "",
					       XATTR_SIZE_MAX - 1, out, e))
		return -1;
	return 1;
}

int mnt_control_set(struct mnt *m, int64_t ino, const char *name,
		    struct blob value, struct err *e)
{
	char text[NAME_MAX + 1];

	if (ino != VFS_ROOT || strcmp(name, SNAPSHOT) != 0)
		return 0;
	if (value.n == 0 || value.n > NAME_MAX)
		return err_set(e, ERR_INVALID, "a snapshot needs a name");
	memcpy(text, value.p, value.n);
	text[value.n] = '\0';
	return mnt_commit(m, e) || vfs_snapshot(m->v, text, e) ||
			       vfs_sync(m->v, e)
		       ? -1
		       : 1;
}
