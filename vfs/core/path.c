#include "vfs/core/path.h"

#include "lib/base/text.h"
#include "vfs/core/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as Linux */
#define MAX_PATH  65536

/* A walk in progress: its position, and the rest of the path. */
struct walk {
	struct vfs *v;
	struct buf rest; /* starts with a name, or is empty */
	int links;
	int64_t dir;         /* current directory */
	struct vfs_place at; /* the last step: directory and name */
	struct node node;    /* its result, if `found` */
	bool found;
};

enum { VFS_PLACE = 2 }; /* like NOFOLLOW, but the last name is not looked up */

static int escape(const struct walk *w, struct err *e)
{
	return err_set(e, ERR_ESCAPE, "the path leads outside namespace %s",
		       w->v->name);
}

/* Removes the first name from the rest; false if there is none. */
static bool next_name(struct walk *w, char *out, struct err *e, int *bad)
{
	const char *p = w->rest.p, *slash;
	size_t skip = strspn(p, "/"), n;

	p += skip;
	slash = strchr(p, '/');
	n = slash ? (size_t)(slash - p) : strlen(p);
	*bad = 0;
	if (n > VFS_NAME_MAX)
		*bad = err_set(e, ERR_LONGNAME,
			       "the name %s is longer than %d bytes",
			       quotedn(p, n).text, VFS_NAME_MAX);
	if (n == 0 || *bad)
		return false;
	memcpy(out, p, n);
	out[n] = '\0';
	n += skip;
	n += strspn(w->rest.p + n, "/");
	buf_drop(&w->rest, n);
	return true;
}

static int go_up(struct walk *w, struct err *e)
{
	if (w->dir == VFS_ROOT)
		return escape(w, e);
	if (node_get(w->v, w->dir, &w->node, e))
		return -1;
	w->dir = w->node.parent;
	return 0;
}

/* Replaces the link by its target in the rest of the path. */
static int follow_link(struct walk *w, int64_t link, struct err *e)
{
	struct buf more = BUF_MAX(MAX_PATH);
	int rc = -1;

	if (++w->links > MAX_LINKS)
		err_set(e, ERR_LOOP, "too many symbolic links");
	else
		rc = vfs_readlink(w->v, link, &more, e);
	if (rc == 0 && more.p[0] == '/')
		rc = escape(w, e);
	if (rc == 0 && w->rest.n) {
		buf_addc(&more, '/');
		buf_add(&more, w->rest.p, w->rest.n);
		rc = buf_ok(&more, "the path", e);
	}
	if (rc) {
		buf_fini(&more);
		return -1;
	}
	buf_fini(&w->rest);
	w->rest = more;
	return 0;
}

/* One name that is not the last one: it must be a directory. */
static int enter_component(struct walk *w, const char *name, struct err *e)
{
	struct vfs_at at = {w->dir, name};
	unsigned type;
	int64_t ino;
	int found;

	if (!strcmp(name, "."))
		return 0;
	if (!strcmp(name, ".."))
		return go_up(w, e);
	found = dentry_get(w->v, at, &ino, &type, e);
	if (found < 0)
		return -1;
	if (!found) { /* or not read yet, or the reason why not */
		if (node_lookup(w->v, at, &w->node, e))
			return -1;
		ino = w->node.ino;
		type = (unsigned)(w->node.mode >> 12);
	}
	if (type == S_IFLNK >> 12)
		return follow_link(w, ino, e);
	if (type != S_IFDIR >> 12)
		return err_set(e, ERR_NOTDIR, "%s is not a directory",
			       quoted(name).text);
	w->dir = ino;
	return 0;
}

/* The last name: it may be a link to follow. */
static int last_step(struct walk *w, const char *name, unsigned follow,
		     struct err *e)
{
	struct vfs_at at = {w->dir, name};
	struct err why;
	int found;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return enter_component(w, name, e);
	w->at.dir = w->dir;
	memcpy(w->at.name, name, strlen(name) + 1);
	w->found = false;
	if (follow == VFS_PLACE)
		return 0;
	/* the walk used names of directories: nothing to explain */
	found = node_child(w->v, at, &w->node, e);
	if (found == 0 && (w->v->base || w->v->source)) {
		found = node_lookup(w->v, at, &w->node, &why) == 0;
		if (!found && why.code != ERR_NOTFOUND) {
			*e = why;
			return -1;
		}
	}
	if (found <= 0)
		return found;
	if (S_ISLNK(w->node.mode) && follow == VFS_FOLLOW)
		return follow_link(w, w->node.ino, e);
	w->found = true;
	return 0;
}

static int walk_in(struct walk *w, unsigned follow, struct err *e)
{
	char name[VFS_NAME_MAX + 1];
	int bad;

	w->dir = VFS_ROOT;
	while (next_name(w, name, e, &bad)) {
		bool last = w->rest.n == 0;

		w->at.dir = 0;
		if (last ? last_step(w, name, follow, e)
			 : enter_component(w, name, e))
			return -1;
	}
	if (bad || w->at.dir)
		return bad;
	w->found = true; /* it ended in a directory, without a name */
	return node_get(w->v, w->dir, &w->node, e);
}

/* Also 0 if only the last name is missing: then w->found is false. */
static int walk_path(struct vfs *v, const char *path, unsigned follow,
		     struct walk *w, struct err *e)
{
	int rc;

	w->v = v;
	w->links = 0;
	w->at.dir = 0;
	buf_init(&w->rest, MAX_PATH);
	buf_adds(&w->rest, path);
	rc = buf_ok(&w->rest, "the path", e);
	if (rc == 0)
		rc = tx_read(v, e);
	if (rc == 0)
		rc = tx_read_end(v, walk_in(w, follow, e));
	buf_fini(&w->rest);
	return rc ? err_wrap(e, "%s", quoted(path).text) : 0;
}

static int missing(const char *path, struct err *e)
{
	return err_set(e, ERR_NOTFOUND, "%s does not exist", quoted(path).text);
}

int vfs_walk(struct vfs *v, const char *path, enum vfs_follow follow,
	     struct vfs_attr *out, struct err *e)
{
	struct walk w;

	if (walk_path(v, path, (unsigned)follow, &w, e))
		return -1;
	if (!w.found)
		return missing(path, e);
	node_attr(&w.node, out);
	return 0;
}

int vfs_walk_place(struct vfs *v, const char *path, struct vfs_place *out,
		   struct err *e)
{
	struct walk w;

	if (walk_path(v, path, VFS_PLACE, &w, e))
		return -1;
	if (!w.at.dir)
		return err_set(e, ERR_USAGE, "%s does not end in a name",
			       quoted(path).text);
	*out = w.at;
	return 0;
}

static int read_whole(struct vfs *v, const struct node *n, struct buf *out,
		      struct err *e)
{
	int64_t off = 0;

	while (off < n->size) {
		size_t want = n->size - off < (1 << 20)
				      ? (size_t)(n->size - off)
				      : 1 << 20;
		char *room = buf_room(out, want);
		ssize_t got;

		if (!room)
			return buf_ok(out, "the file", e);
		got = data_read(v, n, room, want, off, e);
		if (got <= 0)
			return (int)got;
		buf_grew(out, (size_t)got);
		off += got;
	}
	return 0;
}

static int read_file_in(struct vfs *v, const char *path, struct buf *out,
			struct walk *w, struct err *e)
{
	if (walk_path(v, path, VFS_FOLLOW, w, e))
		return -1;
	if (!w->found)
		return missing(path, e);
	if (!S_ISREG(w->node.mode))
		return err_set(e, S_ISDIR(w->node.mode) ? ERR_ISDIR : ERR_USAGE,
			       "%s is not a regular file",
			       *path ? quoted(path).text : "/");
	return read_whole(v, &w->node, out, e);
}

int vfs_read_file(struct vfs *v, const char *path, struct buf *out,
		  struct vfs_attr *out_attr, struct err *e)
{
	bool outer = v->reading;
	struct walk w;
	int rc;

	if (vfs_begin_read(v, e))
		return -1;
	rc = read_file_in(v, path, out, &w, e);
	if (!outer)
		vfs_end_read(v);
	if (rc == 0 && out_attr)
		node_attr(&w.node, out_attr);
	return rc;
}

void vfs_etag(const struct vfs_attr *a, char out[VFS_ETAG])
{
	snprintf(out, VFS_ETAG, "%" PRIx64 "-%" PRIx64, (uint64_t)a->ino,
		 (uint64_t)a->changed);
}

/* The arguments of a call that consists of several. */
struct job {
	const char *path, *to;
	struct blob data;
	const struct vfs_put *put;
	mode_t mode;
	bool parents;
	unsigned flags;
};

static int make_parents(struct vfs *v, const char *path, struct err *e)
{
	char part[MAX_PATH];
	size_t n = strlen(path);

	if (n >= sizeof part)
		return err_set(e, ERR_LONGNAME, "the path is too long");
	for (size_t i = 1; i < n; i++) {
		struct vfs_attr a;
		struct err why;

		if (path[i] != '/' || path[i - 1] == '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (!vfs_walk(v, part, VFS_FOLLOW, &a, &why))
			continue;
		if (why.code != ERR_NOTFOUND) {
			*e = why;
			return -1;
		}
		if (vfs_mkdir(v, part, 0755, false, e))
			return -1;
	}
	return 0;
}

static int check_etag(const struct walk *w, const struct job *j, struct err *e)
{
	struct vfs_attr a;
	char have[VFS_ETAG] = "";

	if (!j->put->if_etag)
		return 0;
	if (w->found) {
		node_attr(&w->node, &a);
		vfs_etag(&a, have);
	}
	if (!strcmp(have, j->put->if_etag))
		return 0;
	if (!*have)
		return err_set(e, ERR_STALE, "%s does not exist any longer",
			       quoted(j->path).text);
	return err_set(e, ERR_STALE, "%s has changed; its etag is now %s",
		       quoted(j->path).text, have);
}

static struct vfs_new new_file(mode_t mode)
{
	return (struct vfs_new){
		.mode = S_IFREG | mode, .uid = getuid(), .gid = getgid()};
}

static int write_in(struct vfs *v, const void *arg, struct err *e)
{
	const struct job *j = arg;
	struct vfs_new new = new_file(j->put->mode ? j->put->mode : 0644);
	struct vfs_set cut = {.what = VFS_SET_SIZE, .size = 0};
	struct vfs_attr a;
	struct walk w;

	if (j->put->parents && make_parents(v, j->path, e))
		return -1;
	if (walk_path(v, j->path, VFS_FOLLOW, &w, e) || check_etag(&w, j, e))
		return -1;
	if (!w.found && node_make(v, (struct vfs_at){w.at.dir, w.at.name}, &new,
				  &w.node, e))
		return -1;
	if (w.found && !j->put->append &&
	    (vfs_setattr(v, w.node.ino, &cut, &a, e) ||
	     node_get(v, w.node.ino, &w.node, e)))
		return -1;
	if (j->data.n == 0)
		return 0;
	return data_write(v, &w.node, j->data.p, j->data.n, w.node.size, e);
}

int vfs_write_file(struct vfs *v, const char *path, struct blob data,
		   const struct vfs_put *put, struct err *e)
{
	static const struct vfs_put plain;
	struct job j = {.path = path, .data = data, .put = put ? put : &plain};

	return tx_many(v, write_in, &j, e);
}

static int mkdir_in(struct vfs *v, const void *arg, struct err *e)
{
	const struct job *j = arg;
	struct vfs_new new = {.mode = S_IFDIR | (j->mode & 07777),
			      .uid = getuid(),
			      .gid = getgid()};
	struct vfs_attr a;
	struct walk w;

	if (j->parents && make_parents(v, j->path, e))
		return -1;
	if (walk_path(v, j->path, j->parents ? VFS_FOLLOW : VFS_NOFOLLOW, &w,
		      e))
		return -1;
	if (w.found && j->parents && S_ISDIR(w.node.mode))
		return 0;
	if (w.found)
		return err_set(e, ERR_CONFLICT, "%s already exists",
			       quoted(j->path).text);
	return vfs_make(v, (struct vfs_at){w.at.dir, w.at.name}, &new, &a, e);
}

int vfs_mkdir(struct vfs *v, const char *path, mode_t mode, bool parents,
	      struct err *e)
{
	struct job j = {.path = path, .mode = mode, .parents = parents};

	return tx_many(v, mkdir_in, &j, e);
}

int vfs_symlink(struct vfs *v, const char *target, const char *path,
		struct err *e)
{
	struct vfs_new new = {.mode = S_IFLNK | 0777,
			      .uid = getuid(),
			      .gid = getgid(),
			      .target = target};
	struct vfs_place at;
	struct vfs_attr a;

	if (vfs_walk_place(v, path, &at, e))
		return -1;
	return vfs_make(v, (struct vfs_at){at.dir, at.name}, &new, &a, e);
}

static int move_in(struct vfs *v, const void *arg, struct err *e)
{
	const struct job *j = arg;
	struct vfs_place from, to;

	if (vfs_walk_place(v, j->path, &from, e) ||
	    vfs_walk_place(v, j->to, &to, e))
		return -1;
	return vfs_rename(v, (struct vfs_at){from.dir, from.name},
			  (struct vfs_at){to.dir, to.name}, j->flags, e);
}

int vfs_move(struct vfs *v, const char *from, const char *to, unsigned flags,
	     struct err *e)
{
	struct job j = {.path = from, .to = to, .flags = flags};

	return tx_many(v, move_in, &j, e);
}
