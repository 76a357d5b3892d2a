#include "vfs/core/lower.h"

#include "lib/base/text.h"
#include "lib/os/open_files.h"
#include "vfs/core/core.h"
#include "vfs/core/nanos.h"
#include "vfs/core/xattr_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Namespaces with a lower directory. A directory of it is read when it is first
 * accessed: every entry becomes a node whose content is still that of the host
 * file. From then on the tree is an ordinary one: removed entries stay removed,
 * and a write copies the chunk that it touches. The host is only opened for
 * reading, beneath the base, without following symbolic links.
 */

static int base_fd(struct vfs *v, struct err *e)
{
	if (v->base_fd < 0)
		v->base_fd = open(v->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (v->base_fd < 0)
		return err_errno_set(e, "cannot open the lower directory %s",
				     v->base);
	return 0;
}

int lower_open(struct vfs *v, const char *path, int flags, struct err *e)
{
	struct open_how how = {
		.flags = (uint32_t)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int fd;

	if (base_fd(v, e))
		return -1;
	if (open_files_contain(v->base_fd, path))
		return err_set(e, ERR_BUSY, "%s/%s is a database in use",
			       v->base, path);
	fd = (int)syscall(SYS_openat2, v->base_fd, *path ? path : ".", &how,
			  sizeof how);
	if (fd < 0)
		return err_set(
			e, errno == ENOENT ? ERR_STALE : err_from_errno(errno),
			"the lower directory has changed: %s/%s: %s", v->base,
			path, strerror(errno));
	return fd;
}

/* The record of the node's host file; path in the arena. */
static int lower_get(struct vfs *v, int64_t ino, struct vfs_lower_row *out,
		     struct arena *a, struct err *e)
{
	struct vfs_key key = {.id = id_of(v, ino)};
	int found = sql_get(v->db, Q_VFS_LOWER_GET, &key, out, a, e);

	if (found > 0)
		return 0;
	return found < 0 ? -1
			 : err_set(e, ERR_CORRUPT,
				   "the host file of node %lld is missing; run "
				   "'skep vfs fsck'",
				   (long long)ino);
}

static int lower_add(struct vfs *v, int64_t ino, const char *path,
		     const struct stat *st, struct err *e)
{
	struct vfs_lower_row row = {.id = id_of(v, ino),
				    .path = blob_text(path),
				    .size = S_ISDIR(st->st_mode) ? HOST_DIR
								 : st->st_size,
				    .modified = nanos_of(st->st_mtim),
				    .lower_ino = (int64_t)st->st_ino};

	return sql_exec(v->db, Q_VFS_LOWER_ADD, &row, e) < 0 ? -1 : 0;
}

int lower_root(struct vfs *v, struct node *root, struct err *e)
{
	struct stat st;

	if (base_fd(v, e))
		return -1;
	if (fstat(v->base_fd, &st))
		return err_errno_set(e, "cannot read %s", v->base);
	root->mode = st.st_mode;
	root->uid = st.st_uid;
	root->gid = st.st_gid;
	root->modified = nanos_of(st.st_mtim);
	root->flags |= NODE_UNSEEN;
	if (node_save(v, root, e))
		return -1;
	return lower_add(v, root->ino, "", &st, e);
}

static struct node node_of(const struct stat *st, int64_t dir, const char *name)
{
	struct node n = {
		.mode = st->st_mode,
		.nlink = S_ISDIR(st->st_mode) ? 2 : 1,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = S_ISDIR(st->st_mode) ? 0 : st->st_size,
		.rdev = (int64_t)st->st_rdev,
		.accessed = nanos_of(st->st_atim),
		.modified = nanos_of(st->st_mtim),
		.changed = nanos_of(st->st_ctim),
		.created = nanos_of(st->st_ctim),
		.flags = NODE_HOSTS | (S_ISDIR(st->st_mode) ? NODE_UNSEEN : 0),
		.blob = OPT_NONE,
		.lower_size = S_ISREG(st->st_mode) ? st->st_size : OPT_NONE,
	};

	node_place(&n, (struct vfs_at){dir, name});
	return n;
}

/* Adds the node with the attributes of its host file. */
static int add_node(struct vfs *v, struct node *n, const char *target, int dir,
		    struct err *e)
{
	struct buf list = BUF_MAX((size_t)16 << 20);
	char path[PATH_MAX];
	struct xattr x;
	int rc = 0;

	snprintf(path, sizeof path, "/proc/self/fd/%d/%s", dir, n->name);
	if (!S_ISLNK(n->mode))
		rc = xattrs_of_host(path, &list, e);
	if (list.n)
		n->flags |= NODE_XATTR;
	if (rc == 0)
		rc = node_add(v, n, target, e);
	for (size_t at = 0; rc == 0 && xattrs_next(&list, &at, &x);) {
		struct vfs_key key = {.id = id_of(v, n->ino),
				      .name = blob_text(x.name),
				      .value = x.value};

		rc = sql_exec(v->db, Q_VFS_XATTR_PUT, &key, e) < 0 ? -1 : 0;
	}
	buf_fini(&list);
	return rc;
}

static int fill_one(struct vfs *v, struct node *dir, int fd, const char *path,
		    const char *name, struct err *e)
{
	char target[4096], full[8192];
	ssize_t n = 0;
	struct stat st;
	struct node node;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0
				       : err_errno_set(e, "%s/%s", path, name);
	node = node_of(&st, dir->ino, name);
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(fd, name, target, sizeof target - 1);
		if (n < 0)
			return err_errno_set(e, "%s/%s", path, name);
		target[n] = '\0';
		node.size = n;
	}
	snprintf(full, sizeof full, "%s%s%s", path, *path ? "/" : "", name);
	if (add_node(v, &node, n ? target : NULL, fd, e) ||
	    dentry_put(v, (struct vfs_at){dir->ino, name}, &node, e))
		return -1;
	dir->nlink += S_ISDIR(node.mode);
	if (S_ISDIR(node.mode) || S_ISREG(node.mode))
		return lower_add(v, node.ino, full, &st, e);
	return 0;
}

/* The host has removed the directory, or put something else there. */
static bool is_gone(const struct err *e)
{
	return e->code == ERR_STALE || e->code == ERR_NOTFOUND ||
	       e->code == ERR_NOTDIR || e->code == ERR_LOOP;
}

/* A missing directory is empty: apply and diff show it as a conflict. */
static int fill_from(struct vfs *v, struct node *dir, const char *path,
		     struct err *e)
{
	int fd = lower_open(v, path, O_DIRECTORY, e);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	if (!d)
		return fd < 0 && is_gone(e)
			       ? 0
			       : err_errno_set(e, "cannot read %s/%s", v->base,
					       path);
	while (rc == 0 && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			rc = fill_one(v, dir, fd, path, entry->d_name, e);
	closedir(d);
	return rc;
}

/* Before-images of the directory, from a time when it was not read yet. */
static int fill_snapshots(struct vfs *v, const struct node *dir,
			  int64_t subdirs, struct err *e)
{
	struct vfs_undo_filled_in in = {id_of(v, dir->ino), subdirs};

	return sql_exec(v->db, Q_VFS_UNDO_FILLED, &in, e) < 0 ? -1 : 0;
}

static int fill_in(struct vfs *v, struct node *dir, struct err *e)
{
	struct arena mem = {0};
	struct vfs_lower_row host;
	int64_t keep = v->keep, before;
	int rc = -1;

	/* another process may have been faster */
	if (node_get(v, dir->ino, dir, e))
		return -1;
	if (!(dir->flags & NODE_UNSEEN))
		return 0;
	v->keep = 0;       /* reading is not a change */
	v->next_lower = 0; /* another view of the namespace may have read too */
	v->filling = true;
	dir->flags &= ~NODE_UNSEEN;
	before = dir->nlink;
	if (!lower_get(v, dir->ino, &host, &mem, e))
		rc = fill_from(v, dir,
			       arena_textn(&mem, host.path.p, host.path.n), e);
	if (rc == 0)
		rc = node_save(v, dir, e);
	v->keep = keep;
	v->filling = false;
	if (rc == 0)
		rc = fill_snapshots(v, dir, dir->nlink - before, e);
	arena_fini(&mem);
	return rc;
}

/* Also called in the middle of reads: then the read transaction is
 * suspended. */
static int fill_live(struct vfs *v, struct node *dir, struct err *e)
{
	bool was_reading = v->reading;
	int rc;

	if (sql_is_writing(v->db))
		return fill_in(v, dir, e);
	v->reading = false;
	if (sql_leave(v->db, 0, e) || tx_begin(v, e))
		return -1;
	rc = tx_end(v, fill_in(v, dir, e), e);
	if (sql_enter_read(v->db, e))
		return -1;
	v->reading = was_reading;
	return rc;
}

/* What is read is a part of all snapshots: schema/agent/vfs_id.h. */
int lower_fill(struct vfs *v, struct node *dir, struct err *e)
{
	int64_t snap = v->snap;
	int rc;

	v->snap = 0;
	rc = fill_live(v, dir, e);
	v->snap = snap;
	if (rc || !snap)
		return rc;
	return node_get(v, dir->ino, dir, e);
}

int lower_fill_all(struct vfs *v, struct err *e)
{
	struct vfs_range range = range_of(v->ns);
	struct vfs_number id;
	struct node dir;
	int found;

	if (!v->base)
		return 0;
	/* a directory comes before its new entries: no need to look back */
	while ((found = sql_get(v->db, Q_VFS_UNSEEN, &range, &id, NULL, e)) >
	       0) {
		if (node_get(v, id.n & INO_MASK, &dir, e) ||
		    fill_in(v, &dir, e))
			return -1;
		range.lo = id.n + 1;
	}
	return found;
}

/* Whether the file at that path is still the one that was first seen there, or
 * a copy of it. Checked by path: a replaced file differs from the one that we
 * have open. */
static bool is_same(struct vfs *v)
{
	struct err ignored;
	struct stat st;

	if (fstatat(v->base_fd, v->host.path, &st, AT_SYMLINK_NOFOLLOW) ||
	    st.st_size != v->host.size ||
	    nanos_of(st.st_mtim) != v->host.modified)
		return false;
	if ((int64_t)st.st_ino != v->host.lower_ino &&
	    lower_fingerprint_same(v, v->host.ino, v->host.path, &ignored) <= 0)
		return false;
	v->host.lower_ino = (int64_t)
				    st.st_ino; /* no need to compare it again */
	return true;
}

static void close_content(struct vfs *v)
{
	if (v->host.ino)
		close(v->host.fd);
	free(v->host.path);
	v->host.path = NULL;
	v->host.ino = 0;
}

void lower_close(struct vfs *v)
{
	close_content(v);
	if (v->base_fd >= 0)
		close(v->base_fd);
	v->base_fd = -1;
}

static int open_content(struct vfs *v, const struct node *n, struct err *e)
{
	struct arena mem = {0};
	struct vfs_lower_row host;
	int fd = -1;

	if (v->host.ino == n->ino)
		return 0;
	close_content(v);
	if (!lower_get(v, n->ino, &host, &mem, e)) {
		v->host.path = strndup(host.path.p, host.path.n);
		if (!v->host.path)
			abort();
		fd = lower_open(v, v->host.path, O_NONBLOCK, e);
	}
	arena_fini(&mem);
	if (fd < 0)
		return -1;
	v->host.ino = n->ino;
	v->host.fd = fd;
	v->host.size = host.size;
	v->host.modified = host.modified;
	v->host.lower_ino = host.lower_ino;
	return 0;
}

int lower_read(struct vfs *v, const struct node *n, void *p, size_t len,
	       int64_t off, struct err *e)
{
	size_t want = 0, done = 0;
	ssize_t got = 1;

	if (off < n->lower_size)
		want = (int64_t)len < n->lower_size - off
			       ? len
			       : (size_t)(n->lower_size - off);
	memset((char *)p + want, 0, len - want);
	if (want == 0)
		return 0;
	if (open_content(v, n, e)) {
		if (e->code == ERR_NOTFOUND) /* the lower directory itself was
					      * deleted */
			e->code = ERR_STALE;
		return -1;
	}
	while (done < want && got > 0) {
		got = pread(v->host.fd, (char *)p + done, want - done,
			    off + (int64_t)done);
		done += got > 0 ? (size_t)got : 0;
	}
	if (got < 0)
		return err_errno_set(e, "cannot read the host file");
	if (done < want || !is_same(v))
		return err_set(e, ERR_STALE,
			       "the host file of %s changed since the "
			       "namespace first read it",
			       quoted(n->name).text);
	return 0;
}

static bool has_path(const struct vfs_lower_row *host, const char *path)
{
	return host->path.n == strlen(path) &&
	       !memcmp(host->path.p, path, host->path.n);
}

int lower_is_at(struct vfs *v, const struct node *n, const char *path,
		struct err *e)
{
	struct arena mem = {0};
	struct vfs_lower_row host;
	int same = lower_get(v, n->ino, &host, &mem, e) ? -1
							: has_path(&host, path);

	arena_fini(&mem);
	return same;
}

int lower_is_clean(struct vfs *v, const struct node *n, const char *path,
		   struct err *e)
{
	struct vfs_key key = {.id = id_of(v, n->ino)};
	struct vfs_number chunk;
	struct arena mem = {0};
	struct vfs_lower_row host;
	int chunks, same;

	if (n->flags & NODE_UNSEEN)
		return 1;
	if (n->lower_size == OPT_NONE || n->lower_size != n->size ||
	    n->blob != OPT_NONE)
		return 0;
	chunks = sql_get(v->db, Q_VFS_CHUNK_FROM, &key, &chunk, NULL, e);
	if (chunks)
		return chunks < 0 ? -1 : 0;
	if (lower_get(v, n->ino, &host, &mem, e))
		same = -1;
	else
		same = host.size == n->size && has_path(&host, path);
	arena_fini(&mem);
	return same;
}

int lower_seen(struct vfs *v, const char *path, struct vfs_lower_row *out,
	       struct err *e)
{
	struct vfs_range r = range_of(v->ns);
	struct vfs_lower_at_in key = {r.lo, r.hi, blob_text(path)};
	struct arena mem = {0};
	int found = sql_get(v->db, Q_VFS_LOWER_AT, &key, out, &mem, e);

	arena_fini(&mem);
	return found;
}

int lower_open_parent(struct vfs *v, const char *path, const char **name,
		      struct err *e)
{
	const char *slash = strrchr(path, '/');
	char dir[8192];

	*name = slash ? slash + 1 : path;
	snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 0,
		 path);
	return lower_open(v, dir, O_DIRECTORY, e);
}

int lower_reset(struct vfs *v, struct err *e)
{
	struct vfs_range range = range_of(v->ns);

	while (v->keep)
		if (snapshot_drop(v, v->keep, e))
			return -1;
	v->next_ino = v->next_lower = 0;
	if (range_drop(v, &range, e))
		return -1;
	lower_close(v);
	return ns_add_root(v, e);
}
