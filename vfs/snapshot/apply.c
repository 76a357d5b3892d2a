#include "vfs/snapshot/merge.h"

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "vfs/core/core.h"
#include "vfs/core/journal.h"
#include "vfs/core/lower.h"
#include "vfs/core/nanos.h"
#include "vfs/core/xattr_list.h"
#include "vfs/snapshot/conflict.h"
#include "vfs/snapshot/diff_list.h"
#include "vfs/snapshot/snapshot.h"
#include "vfs/transfer/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Applies the changes of a namespace to its lower directory. */

#define KEEP_BATCH 256 /* changes between two commits */

struct apply {
	struct vfs *v;
	struct diff_source host, ours;
	struct diff_list d;
	struct vfs_merge *m;
	/* The temporary name of new files. It is the same in each attempt, so
	 * that a killed attempt leaves nothing that the next does not reuse. */
	char beside[64];
	const char *lost; /* the last directory found to be lost */
	bool base_lost;
	int64_t devices;
};

/* Whether our node is unchanged, so that the host caused the difference. A node
 * of the host is born with its change time. */
static int is_ours_clean(struct apply *a, const struct vfs_difference *d,
			 struct node *n, struct err *e)
{
	int clean;

	if (!d->b.mode)
		return 0;
	if (node_get(a->v, d->b.ino, n, e))
		return -1;
	if (n->changed != n->created)
		return 0;
	clean = lower_is_clean(a->v, n, d->path, e);
	return clean ? clean
		     : !S_ISREG(n->mode) && !S_ISDIR(n->mode) &&
			       n->flags & NODE_HOSTS;
}

enum { SKIP, APPLY, CONFLICT }; /* decisions */

static int conflict(struct apply *a, const struct vfs_difference *d)
{
	return conflict_decide(a->m, d) == VFS_STRATEGY_FORK ? APPLY : CONFLICT;
}

/* Below a directory that the host has removed. */
static bool is_below_lost(const struct apply *a, const char *path)
{
	size_t n = a->lost ? strlen(a->lost) : 0;

	return a->base_lost ||
	       (n && !strncmp(path, a->lost, n) && path[n] == '/');
}

/* The host does not have the path. */
static int classify_missing(struct apply *a, const struct vfs_difference *d,
			    bool was, const struct vfs_lower_row *seen)
{
	if (was && seen->size == HOST_DIR && S_ISDIR(d->b.mode)) {
		if (!is_below_lost(a, d->path))
			a->lost = d->path;
		return SKIP; /* classify_lost decides after all others */
	}
	if (is_below_lost(a, d->path) ||
	    (was && seen->size != HOST_DIR && S_ISREG(d->b.mode)))
		return conflict(a, d);
	return APPLY;
}

/* Whether the host file differs from what the namespace first saw: 1, 0, -1. If
 * only the change time differs, the file is compared. */
static int lower_changed(struct apply *a, const struct vfs_difference *d,
			 const struct node *n, const struct vfs_lower_row *seen,
			 struct err *e)
{
	int same;

	if (seen->size != d->a.size || seen->modified != d->a.modified)
		return 1;
	if (!d->b.mode || (seen->id & INO_MASK) != n->ino ||
	    d->a.changed == n->created)
		return 0;
	same = lower_fingerprint_same(a->v, n->ino, d->path, e);
	return same < 0 ? -1 : !same;
}

/* apply creates none: export them instead. */
static bool is_device(const struct vfs_difference *d)
{
	return d->kind != VFS_REMOVED &&
	       (S_ISCHR(d->b.mode) || S_ISBLK(d->b.mode));
}

static int classify_change(struct apply *a, const struct vfs_difference *d,
			   struct err *e)
{
	struct vfs_lower_row seen;
	struct node n;
	int was = lower_seen(a->v, d->path, &seen, e);
	int clean = was < 0 ? -1 : is_ours_clean(a, d, &n, e);

	if (was < 0 || clean < 0)
		return -1;
	if (!clean && is_device(d)) {
		a->devices++;
		return conflict(a, d) == APPLY ? SKIP : CONFLICT;
	}
	if (!d->a.mode && (!clean || S_ISDIR(d->b.mode)))
		return classify_missing(a, d, was, &seen);
	if (clean)
		return SKIP; /* the host changed, we did not */
	if (S_ISREG(d->a.mode) && was) {
		int changed = lower_changed(a, d, &n, &seen, e);

		if (changed)
			return changed < 0 ? -1 : conflict(a, d);
	}
	if (!was && (S_ISREG(d->a.mode) || S_ISDIR(d->a.mode)))
		return d->kind == VFS_REMOVED ? SKIP : conflict(a, d);
	return APPLY;
}

/* A directory that the host has removed is created again if something in it is,
 * and is in conflict if something in it is. */
static void classify_lost(struct apply *a, size_t i)
{
	const struct vfs_difference *d = &a->d.list[i];
	size_t n = strlen(d->path);

	if (d->kind != VFS_UNMERGED || !S_ISDIR(d->b.mode))
		return;
	for (size_t j = i + 1; j < a->d.n; j++) {
		if (strncmp(a->d.list[j].path, d->path, n) != 0 ||
		    a->d.list[j].path[n] != '/')
			break;
		if (a->d.decision[j] == SKIP)
			continue;
		a->d.decision[i] = conflict(a, d);
		break;
	}
}

static int copy_out(struct apply *a, const struct vfs_difference *d, int fd,
		    struct err *e)
{
	char *room = malloc(1 << 20);
	int64_t off = 0;
	ssize_t n;
	int rc = 0;

	if (!room)
		abort();
	while (rc == 0 &&
	       (n = vfs_pread(a->v, d->b.ino, room, 1 << 20, off, e)) != 0) {
		rc = n < 0 ? -1
			   : file_write_fd(fd, d->path, room, (size_t)n, e);
		off += n;
	}
	free(room);
	return rc;
}

static int own(int dir, const char *name, const struct vfs_attr *want)
{
	if (fchownat(dir, name, want->uid, want->gid, AT_SYMLINK_NOFOLLOW) &&
	    geteuid() == 0)
		return -1;
	if (S_ISLNK(want->mode))
		return 0;
	return fchmodat(dir, name, vfs_mode_out(want->mode, false) & 07777, 0);
}

/* Attributes of the namespace's node; after `own`, since a change of the mode
 * changes an ACL. */
static int set_xattrs(struct apply *a, const struct vfs_difference *d, int dir,
		      const char *name, struct err *e)
{
	struct buf list = BUF_MAX((size_t)16 << 20);
	char path[PATH_MAX];
	struct node n;
	int rc;

	if (S_ISLNK(d->b.mode))
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dir, name);
	rc = node_get(a->v, d->b.ino, &n, e) ||
			     xattrs_of_node(a->v, &n, true, &list, e)
		     ? -1
		     : xattrs_to_host(path, &list, e);
	buf_fini(&list);
	return rc;
}

static int dress(struct apply *a, const struct vfs_difference *d, int dir,
		 const char *name, struct err *e)
{
	if (own(dir, name, &d->b))
		return err_errno_set(e, "%s", d->path);
	return set_xattrs(a, d, dir, name, e);
}

static int make_host_file(struct apply *a, const struct vfs_difference *d,
			  int dir, struct err *e)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    nanos_spec(d->b.modified)};
	int fd = openat(dir, a->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			0600);
	int rc;

	if (fd < 0)
		return err_errno_set(e, "%s", d->path);
	rc = copy_out(a, d, fd, e);
	if (rc == 0)
		rc = dress(a, d, dir, a->beside, e);
	if (rc == 0 && (futimens(fd, times) || fsync(fd)))
		rc = err_errno_set(e, "%s", d->path);
	close(fd);
	return rc;
}

static int make_link(struct apply *a, const struct vfs_difference *d, int dir,
		     struct err *e)
{
	struct buf target = BUF_MAX(8192);
	int rc = vfs_readlink(a->v, d->b.ino, &target, e);

	if (rc == 0 && symlinkat(target.p, dir, a->beside))
		rc = err_errno_set(e, "%s", d->path);
	buf_fini(&target);
	return rc;
}

static int make_other(struct apply *a, const struct vfs_difference *d, int dir,
		      struct err *e)
{
	if (S_ISDIR(d->b.mode) ? mkdirat(dir, a->beside, 0700)
			       : mknodat(dir, a->beside, d->b.mode, d->b.rdev))
		return err_errno_set(e, "%s", d->path);
	return dress(a, d, dir, a->beside, e);
}

static void remove_beside(struct apply *a, int dir)
{
	if (unlinkat(dir, a->beside, 0) && errno != ENOENT)
		(void)unlinkat(dir, a->beside, AT_REMOVEDIR);
}

/* Written completely under a temporary name, then renamed. */
static int put_in_place(struct apply *a, const struct vfs_difference *d,
			int dir, const char *name, struct err *e)
{
	int rc;

	remove_beside(a, dir); /* left by a killed attempt */
	rc = S_ISREG(d->b.mode)   ? make_host_file(a, d, dir, e)
	     : S_ISLNK(d->b.mode) ? make_link(a, d, dir, e)
				  : make_other(a, d, dir, e);
	if (rc == 0 && renameat(dir, a->beside, dir, name))
		/* a directory that the host has created meanwhile will do */
		rc = S_ISDIR(d->b.mode) && errno == ENOTEMPTY &&
				     !own(dir, name, &d->b)
			     ? 0
			     : err_errno_set(e, "%s", d->path);
	else if (rc == 0)
		return 0;
	remove_beside(a, dir);
	return rc;
}

static int apply_change(struct apply *a, const struct vfs_difference *d,
			struct err *e)
{
	const char *name;
	int dir = lower_open_parent(a->v, d->path, &name, e);
	int rc = 0;

	if (dir < 0)
		return -1;
	if (d->kind == VFS_REMOVED) {
		/* a directory with new entries of the host is kept */
		if (unlinkat(dir, name,
			     S_ISDIR(d->a.mode) ? AT_REMOVEDIR : 0) &&
		    errno != ENOENT && errno != ENOTEMPTY)
			rc = err_errno_set(e, "%s", d->path);
	} else if (d->kind == VFS_MODE) {
		rc = dress(a, d, dir, name, e);
	} else {
		rc = put_in_place(a, d, dir, name, e);
	}
	close(dir);
	return rc;
}

static int classify_all(struct apply *a, struct err *e)
{
	for (size_t i = 0; i < a->d.n; i++) {
		a->d.decision[i] = classify_change(a, &a->d.list[i], e);
		if (a->d.decision[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < a->d.n; i++)
		classify_lost(a, i);
	return 0;
}

static int in_conflict(const struct apply *a, struct err *e)
{
	if (a->devices)
		return err_set(e, ERR_CONFLICT,
			       "apply cannot create device nodes, and there "
			       "are %lld; nothing was applied. Delete them "
			       "with 'skep vfs rm', or skip them with "
			       "--strategy",
			       (long long)a->devices);
	return err_set(e, ERR_CONFLICT,
		       "%lld %s changed in %s as well, so nothing was "
		       "applied; " VFS_RESOLVE
		       " (ours: the host, theirs: the namespace)",
		       (long long)a->m->unresolved,
		       text_plural(a->m->unresolved, "path", "paths"),
		       a->v->base);
}

static int keep_if_moved(struct apply *a, const struct vfs_difference *d,
			 struct err *e)
{
	struct node n;
	int at;

	if (!S_ISREG(d->b.mode))
		return 0;
	if (node_get(a->v, d->b.ino, &n, e))
		return -1;
	if (n.lower_size == OPT_NONE)
		return 0;
	at = lower_is_at(a->v, &n, d->path, e);
	if (at)
		return at < 0 ? -1 : 0;
	return data_keep_lower(a->v, &n, e);
}

/* A file that was moved has its content at its old path, which is about to be
 * removed or replaced. So the namespace stores such contents, and waits for the
 * disk, before the host changes: even a killed apply loses none. */
static int keep_moved(struct apply *a, struct err *e)
{
	int rc = vfs_begin(a->v, e);

	for (size_t i = 0; rc == 0 && i < a->d.n; i++) {
		if (i % KEEP_BATCH == KEEP_BATCH - 1)
			rc = vfs_commit(a->v, e) ? -1 : vfs_begin(a->v, e);
		if (rc == 0 && a->d.decision[i] == APPLY)
			rc = keep_if_moved(a, &a->d.list[i], e);
	}
	if (rc && vfs_in_batch(a->v))
		vfs_rollback(a->v);
	return rc ? -1 : vfs_commit(a->v, e);
}

static int carry_out(struct apply *a, struct err *e)
{
	if (classify_all(a, e))
		return -1;
	if (a->m->unresolved)
		return in_conflict(a, e);
	if (keep_moved(a, e))
		return -1;
	for (size_t i = 0; i < a->d.n; i++) {
		if (a->d.decision[i] != APPLY)
			continue;
		if (apply_change(a, &a->d.list[i], e))
			return -1;
		a->m->applied++;
		if (a->m->report)
			a->m->report(a->m->arg, &a->d.list[i], false);
	}
	return 0;
}

static int discard_in(struct vfs *v, struct err *e)
{
	struct vfs_at at = {0, ""};

	if (lower_reset(v, e) || quota_recount(v, e))
		return -1;
	return journal_add(v, VFS_OP_rollback, at, 0, e);
}

int vfs_discard(struct vfs *v, struct err *e)
{
	struct vfs_snap_find_row point;
	struct err none;
	int rc;

	if (!v->base) {
		if (snapshot_find(v, VFS_FORK_POINT, &point, &none))
			return err_set(
				e, ERR_USAGE,
				"namespace '%s' is not a fork and has no lower "
				"directory, so there is nothing to discard",
				v->name);
		return vfs_rollback_to(v, VFS_FORK_POINT, e);
	}
	if (tx_begin(v, e))
		return -1;
	sql_bulk_begin(v->db);
	rc = tx_end(v, discard_in(v, e), e);
	sql_bulk_end(v->db);
	return rc;
}

/* Changes that others made since we looked are not on the host. */
static int others_did(struct vfs *v, int64_t since, struct err *e)
{
	struct arena mem = {0};
	struct vfs_change *c;
	bool found = false;
	int n = 1;

	while (!found && n > 0) {
		arena_reset(&mem);
		n = vfs_changes(v, since, 500, &c, &mem, e);
		for (int i = 0; i < n && !found; i++)
			found = strcmp(c[i].who, v->who) != 0;
		if (n > 0)
			since = c[n - 1].seq;
	}
	arena_fini(&mem);
	return n < 0 ? -1 : found;
}

static int finish_apply(struct vfs *v, int64_t since, struct err *e)
{
	int others = others_did(v, since, e);

	if (others > 0)
		return err_set(e, ERR_STALE,
			       "%s changed while it was applied; apply it once "
			       "more",
			       v->name);
	return others < 0 ? -1 : discard_in(v, e);
}

/* Contents were synced file by file; this syncs names, directories and
 * deletions. Afterwards the workspace drops its own copies. */
static int sync_host(const char *dir, struct err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || syncfs(fd) ? err_errno_set(e, "%s", dir) : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

int vfs_apply(struct vfs *v, struct vfs_merge *m, struct err *e)
{
	struct apply a = {
		.v = v, .host = {.dir = v->base}, .ours = {.v = v}, .m = m};
	char hash[HASH_HEX];
	int64_t since;
	int rc;

	m->applied = m->conflicts = m->unresolved = 0;
	if (!v->base)
		return err_set(e, ERR_USAGE,
			       "namespace '%s' has no lower directory",
			       v->name);
	hash_of(sql_path(v->db), strlen(sql_path(v->db)), hash);
	snprintf(a.beside, sizeof a.beside, ".skep-apply.%.8s.%lld", hash,
		 (long long)v->ns);
	a.base_lost = access(v->base, F_OK) && errno == ENOENT;
	if (vfs_last_change(v, &since, e))
		return -1;
	rc = vfs_diff(&a.host, &a.ours, diff_list_add, &a.d, e);
	if (rc == 0)
		rc = carry_out(&a, e);
	if (rc == 0 && m->applied > 0)
		rc = sync_host(v->base, e);
	diff_list_fini(&a.d);
	if (rc || tx_begin(v, e))
		return -1;
	sql_bulk_begin(v->db);
	rc = tx_end(v, finish_apply(v, since, e), e);
	sql_bulk_end(v->db);
	return rc;
}
