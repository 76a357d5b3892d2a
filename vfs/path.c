#include "vfs/path.h"

#include "base/text.h"
#include "vfs/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as Linux */
#define MAX_PATH  65536

/* A walk under way: where it is, and what is left to walk. */
struct walk {
	struct vfs *v;
	struct buf rest; /* starts with a name, or is empty */
	int links;
	struct vfs_place at; /* the last step: directory and name */
	struct node node;    /* where it led, if `found` */
	bool found;
};

static int escape(const struct walk *w, struct err *e)
{
	return err_set(e, ERR_ESCAPE, "the path leads out of namespace %s",
		       w->v->name);
}

/* Takes the first name off the rest; false when there is none. */
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
	if (w->node.ino == VFS_ROOT)
		return escape(w, e);
	return node_get(w->v, w->node.parent, &w->node, e);
}

/* The link's target takes the link's place in what is left to walk. */
static int follow_link(struct walk *w, int64_t dir, struct err *e)
{
	struct buf more = BUF_MAX(MAX_PATH);
	int rc = -1;

	if (++w->links > MAX_LINKS)
		err_set(e, ERR_LOOP, "too many symbolic links");
	else
		rc = vfs_readlink(w->v, w->node.ino, &more, e);
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
	return node_get(w->v, dir, &w->node, e);
}

static int step(struct walk *w, const char *name, enum vfs_follow follow,
		struct err *e)
{
	int64_t dir = w->node.ino;
	struct err why;

	if (!S_ISDIR(w->node.mode))
		return err_set(e, ERR_NOTDIR, "%s is not a directory",
			       quoted(w->node.name).text);
	if (!strcmp(name, "."))
		return 0;
	if (!strcmp(name, ".."))
		return go_up(w, e);
	w->at.dir = dir;
	snprintf(w->at.name, sizeof w->at.name, "%s", name);
	if (node_lookup(w->v, (struct vfs_at){dir, name}, &w->node, &why)) {
		w->found = false;
		if (why.code == ERR_NOTFOUND && w->rest.n == 0)
			return 0;
		*e = why;
		return -1;
	}
	if (S_ISLNK(w->node.mode) && (w->rest.n || follow == VFS_FOLLOW))
		return follow_link(w, dir, e);
	return 0;
}

static int walk_in(struct walk *w, enum vfs_follow follow, struct err *e)
{
	char name[VFS_NAME_MAX + 1];
	int bad;

	w->found = true;
	if (node_get(w->v, VFS_ROOT, &w->node, e))
		return -1;
	while (next_name(w, name, e, &bad))
		if (step(w, name, follow, e))
			return -1;
	return bad;
}

/* 0 also when only the last name is missing: then w->found is false. */
static int walk(struct vfs *v, const char *path, enum vfs_follow follow,
		struct walk *w, struct err *e)
{
	int rc;

	*w = (struct walk){.v = v};
	buf_init(&w->rest, MAX_PATH);
	buf_adds(&w->rest, path);
	rc = buf_ok(&w->rest, "the path", e);
	if (rc == 0)
		rc = op_read(v, e);
	if (rc == 0)
		rc = op_read_end(v, walk_in(w, follow, e));
	buf_fini(&w->rest);
	return rc ? err_wrap(e, "%s", quoted(path).text) : 0;
}

static int missing(const char *path, struct err *e)
{
	return err_set(e, ERR_NOTFOUND, "%s is not there", quoted(path).text);
}

int vfs_walk(struct vfs *v, const char *path, enum vfs_follow follow,
	     struct vfs_attr *out, struct err *e)
{
	struct walk w;

	if (walk(v, path, follow, &w, e))
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

	if (walk(v, path, VFS_NOFOLLOW, &w, e))
		return -1;
	if (!w.at.dir || (w.found && (w.node.ino == VFS_ROOT ||
				      strcmp(w.node.name, w.at.name) != 0 ||
				      w.node.parent != w.at.dir)))
		if (!w.at.dir || S_ISDIR(w.node.mode))
			return err_set(e, ERR_USAGE,
				       "%s does not end in a name",
				       quoted(path).text);
	*out = w.at;
	return 0;
}

static int read_whole(struct vfs *v, const struct vfs_attr *a, struct buf *out,
		      struct err *e)
{
	int64_t off = 0;

	while (off < a->size) {
		size_t want = a->size - off < (1 << 20)
				      ? (size_t)(a->size - off)
				      : 1 << 20;
		char *room = buf_room(out, want);
		ssize_t got;

		if (!room)
			return buf_ok(out, "the file", e);
		got = vfs_pread(v, a->ino, room, want, off, e);
		if (got <= 0)
			return (int)got;
		buf_grew(out, (size_t)got);
		off += got;
	}
	return 0;
}

static int read_file_in(struct vfs *v, const char *path, struct buf *out,
			struct vfs_attr *a, struct err *e)
{
	if (vfs_walk(v, path, VFS_FOLLOW, a, e))
		return -1;
	if (!S_ISREG(a->mode))
		return err_set(e, S_ISDIR(a->mode) ? ERR_ISDIR : ERR_USAGE,
			       "%s is not a regular file", quoted(path).text);
	return read_whole(v, a, out, e);
}

int vfs_read_file(struct vfs *v, const char *path, struct buf *out,
		  struct vfs_attr *out_attr, struct err *e)
{
	struct vfs_attr a;
	bool outer = v->reading;
	int rc;

	if (vfs_begin_read(v, e))
		return -1;
	rc = read_file_in(v, path, out, &a, e);
	if (!outer)
		vfs_end_read(v);
	if (rc == 0 && out_attr)
		*out_attr = a;
	return rc;
}

void vfs_etag(const struct vfs_attr *a, char out[VFS_ETAG])
{
	snprintf(out, VFS_ETAG, "%" PRIx64 "-%" PRIx64, (uint64_t)a->ino,
		 (uint64_t)a->changed);
}

/* The arguments of a call that is made of several. */
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
	return err_set(e, ERR_STALE, "%s has changed: it is now %s",
		       quoted(j->path).text, *have ? have : "not there");
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
	if (walk(v, j->path, VFS_FOLLOW, &w, e) || check_etag(&w, j, e))
		return -1;
	node_attr(&w.node, &a);
	if (!w.found &&
	    vfs_make(v, (struct vfs_at){w.at.dir, w.at.name}, &new, &a, e))
		return -1;
	if (w.found && !j->put->append && vfs_setattr(v, a.ino, &cut, &a, e))
		return -1;
	for (size_t off = 0; off < j->data.n; off += 1 << 20) {
		size_t left = j->data.n - off;

		if (vfs_pwrite(v, a.ino, (const char *)j->data.p + off,
			       left < (1 << 20) ? left : 1 << 20,
			       a.size + (int64_t)off, e))
			return -1;
	}
	return 0;
}

int vfs_write_file(struct vfs *v, const char *path, struct blob data,
		   const struct vfs_put *put, struct err *e)
{
	static const struct vfs_put plain;
	struct job j = {.path = path, .data = data, .put = put ? put : &plain};

	return op_many(v, write_in, &j, e);
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
	if (walk(v, j->path, VFS_FOLLOW, &w, e))
		return -1;
	if (w.found && j->parents && S_ISDIR(w.node.mode))
		return 0;
	if (w.found)
		return err_set(e, ERR_CONFLICT, "%s is there already",
			       quoted(j->path).text);
	return vfs_make(v, (struct vfs_at){w.at.dir, w.at.name}, &new, &a, e);
}

int vfs_mkdir(struct vfs *v, const char *path, mode_t mode, bool parents,
	      struct err *e)
{
	struct job j = {.path = path, .mode = mode, .parents = parents};

	return op_many(v, mkdir_in, &j, e);
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

	return op_many(v, move_in, &j, e);
}
