#include "lib/sandbox/mounts.h"

#include "lib/sandbox/written.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Creates the directories up to the path, and an empty file there if it is a
 * file. */
static bool make_place(const char *path, bool dir)
{
	char part[PATH_MAX];
	size_t n = 1, all = strlen(path);
	int fd;

	if (all >= sizeof part)
		return false;
	while (n < all) {
		n += strcspn(path + n, "/");
		memcpy(part, path, n);
		part[n++] = '\0';
		if (n <= all || dir) {
			if (mkdir(part, 0755) && errno != EEXIST)
				return false;
		}
	}
	if (dir)
		return true;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static struct written written_in(const struct namespaces_plan *p)
{
	struct written w = {.n = 0};

	for (int i = 0; i < p->nvisible; i++)
		if (p->visible[i].write)
			w.path[w.n++] = p->visible[i].path;
	return w;
}

/* -1: it is missing, or a link that is not followed. */
static int clone_tree(const struct written *w, const char *path)
{
	int fd = written_open(w, path), tree;

	if (fd < 0)
		return -1;
	tree = open_tree(fd, "",
			 AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				 AT_RECURSIVE);
	close(fd);
	return tree;
}

/* A directory of the commands would make what is put back into it writable for
 * them. */
static bool open_trees(struct mounts *m)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
	const struct written w = written_in(m->plan);

	for (int i = 0; i < m->plan->nvisible; i++) {
		m->at = m->plan->visible[i].path;
		m->tree[i] = clone_tree(&w, m->at);
		if (m->tree[i] >= 0 && !m->plan->visible[i].write &&
		    mount_setattr(m->tree[i], "", AT_EMPTY_PATH | AT_RECURSIVE,
				  &read_only, sizeof read_only))
			return false;
	}
	return true;
}

static uint64_t mount_of(int fd, const char *path, int flags)
{
	struct statx st;

	return statx(fd, path, flags, STATX_MNT_ID, &st) == 0 &&
			       (st.stx_mask & STATX_MNT_ID)
		       ? st.stx_mnt_id
		       : 0;
}

/* If one cover is below another, a kept file in a kept directory is already
 * back: it cannot be mounted onto itself. */
static bool is_back(int tree, const char *path)
{
	uint64_t there = mount_of(AT_FDCWD, path, AT_NO_AUTOMOUNT);

	return there && there == mount_of(tree, "", AT_EMPTY_PATH);
}

/* Whether the directory itself is back, below another cover. */
static bool is_placed(const struct mounts *m, const char *dir)
{
	for (int i = 0; i < m->plan->nvisible; i++)
		if (m->placed[i] && strcmp(m->plan->visible[i].path, dir) == 0)
			return true;
	return false;
}

/* Other programs may remove a path between our look at it and the mount: then
 * there is nothing left to hide. */
static bool is_missing(const char *path)
{
	struct stat st;

	return errno == ENOENT && lstat(path, &st) != 0 && errno == ENOENT;
}

/* Covers it with an empty directory and puts back what is kept below it. */
static bool mask(struct mounts *m, const char *dir, const char *options)
{
	struct stat st;

	m->at = dir;
	if (is_placed(m, dir) || stat(dir, &st))
		return true; /* kept, already covered, or missing */
	if (mount("skep", dir, "tmpfs", MS_NOSUID | MS_NODEV, options))
		return is_missing(dir);
	for (int i = 0; i < m->plan->nvisible; i++) {
		const char *path = m->plan->visible[i].path;

		m->at = path;
		if (m->tree[i] < 0 || !path_is_below(path, dir) ||
		    is_back(m->tree[i], path))
			continue;
		if (access(path, F_OK) &&
		    (fstat(m->tree[i], &st) ||
		     !make_place(path, S_ISDIR(st.st_mode))))
			return false;
		if (move_mount(m->tree[i], "", AT_FDCWD, path,
			       MOVE_MOUNT_F_EMPTY_PATH))
			return false;
		m->placed[i] = true;
	}
	return true;
}

static bool is_root(const char *path)
{
	return strcmp(path, "/") == 0;
}

static bool root_is_writable(const struct namespaces_plan *p)
{
	for (int i = 0; i < p->nvisible; i++)
		if (p->visible[i].write && is_root(p->visible[i].path))
			return true;
	return false;
}

/* Landlock does not restrict modes, owners and attributes of files; changing
 * these, and everything else, requires a writable mount. The kernel's own files
 * are never writable. */
static bool make_read_only(struct mounts *m)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};

	m->at = root_is_writable(m->plan) ? "/sys" : "/";
	return mount_setattr(AT_FDCWD, m->at, AT_RECURSIVE, &read_only,
			     sizeof read_only) == 0;
}

/* Writable paths that are not below a cover. A mount on / would not be visible
 * in a process whose root is /. */
static bool place_written(struct mounts *m)
{
	for (int i = 0; i < m->plan->nvisible; i++) {
		m->at = m->plan->visible[i].path;
		if (m->tree[i] >= 0 && m->plan->visible[i].write &&
		    !m->placed[i] && !is_root(m->at) &&
		    move_mount(m->tree[i], "", AT_FDCWD, m->at,
			       MOVE_MOUNT_F_EMPTY_PATH))
			return false;
	}
	return true;
}

#define EMPTY "mode=0755,size=64k"

static bool hide_file(const char *path)
{
	return mount("/dev/null", path, NULL, MS_BIND, NULL) == 0 ||
	       is_missing(path);
}

static bool keeps_below(const struct mounts *m, const char *dir)
{
	for (int i = 0; i < m->plan->nvisible; i++)
		if (path_is_below(m->plan->visible[i].path, dir))
			return true;
	return false;
}

/* The first one gets a file system, the others show the same. */
static bool hide_dir(struct mounts *m, const char *dir)
{
	if (keeps_below(m, dir))
		return mask(m, dir, EMPTY);
	if (m->empty)
		return mount(m->empty, dir, NULL, MS_BIND, NULL) == 0 ||
		       is_missing(dir);
	if (mount("skep", dir, "tmpfs", MS_NOSUID | MS_NODEV, EMPTY))
		return is_missing(dir);
	m->empty = dir;
	return true;
}

/* Hides a file or a directory, except for what is kept below it. */
static bool hide(struct mounts *m, const char *path)
{
	struct stat st;

	m->at = path;
	for (int i = 0; i < m->plan->nvisible; i++)
		if (strcmp(m->plan->visible[i].path, path) == 0)
			return true;
	if (stat(path, &st))
		return true;
	return S_ISDIR(st.st_mode) ? hide_dir(m, path) : hide_file(path);
}

static bool hide_services(struct mounts *m)
{
	static const char *const dirs[] = {
#define MASK_DIR(path) path,
#define SEEN(path)
#include "lib/sandbox/sockets.def"
#undef MASK_DIR
#undef SEEN
	};

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		if (!mask(m, dirs[i], EMPTY))
			return false;
	return true;
}

/* Users other than root cannot read them anyway. */
static bool hide_secrets(struct mounts *m)
{
	static const char *const paths[] = {
#define SECRET(path) path,
#include "lib/sandbox/secrets.def"
#undef SECRET
	};

	if (geteuid() != 0)
		return true;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (!hide(m, paths[i]))
			return false;
	return true;
}

static bool hide_homes(struct mounts *m)
{
	const struct homes *h = m->plan->homes;

	for (int i = 0; h && i < h->n; i++)
		if (!mask(m, h->dir[i], EMPTY))
			return false;
	return true;
}

static bool hide_keys(struct mounts *m)
{
	const struct homes *h = m->plan->homes;

	for (int i = 0; h && i < h->nkeys; i++)
		if (!hide(m, h->key[i]))
			return false;
	return true;
}

/* --- /dev ----------------------------------------------------------------- */

static const char *const devices[] = {
#define DEVICE(path) path,
#include "lib/sandbox/devices.def"
#undef DEVICE
};

#define NDEVICES (sizeof devices / sizeof *devices)

static bool put_devices(struct mounts *m, const int tree[NDEVICES])
{
	for (size_t i = 0; i < NDEVICES; i++) {
		m->at = devices[i];
		if (tree[i] >= 0 &&
		    (!make_place(devices[i], false) ||
		     move_mount(tree[i], "", AT_FDCWD, devices[i],
				MOVE_MOUNT_F_EMPTY_PATH)))
			return false;
	}
	return true;
}

/* A few devices, and private pseudoterminals. */
static bool make_dev(struct mounts *m, const char *tmp)
{
	int tree[NDEVICES];

	for (size_t i = 0; i < NDEVICES; i++)
		tree[i] = open_tree(AT_FDCWD, devices[i],
				    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (!mask(m, "/dev", EMPTY) || !put_devices(m, tree))
		return false;
	m->at = "/dev/pts";
	if (mkdir("/dev/pts", 0755) ||
	    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		  "newinstance,ptmxmode=0666,mode=0620"))
		return false;
	m->at = "/dev";
	if ((mkdir("/dev/shm", 0755) && errno != EEXIST) ||
	    symlink("pts/ptmx", "/dev/ptmx") ||
	    symlink("/proc/self/fd", "/dev/fd") ||
	    symlink("/proc/self/fd/0", "/dev/stdin") ||
	    symlink("/proc/self/fd/1", "/dev/stdout") ||
	    symlink("/proc/self/fd/2", "/dev/stderr"))
		return false;
	return mask(m, "/dev/shm", tmp);
}

/* --- sockets --------------------------------------------------------------- */

#define SOCKETS_MAX 32768 /* bytes of their paths */

/* Whether it is still visible after all other mounts. */
static bool is_hidden(const struct mounts *m, const char *path)
{
	const struct namespaces_plan *p = m->plan;

	return path_is_below(path, "/run") || path_is_below(path, "/tmp") ||
	       path_is_below(path, "/dev") || path_is_below(path, "/proc") ||
	       (p->hidden && path_is_below(path, p->hidden)) ||
	       (p->homes && homes_contain(p->homes, path));
}

static bool add_socket(struct mounts *m, char *list, size_t *used,
		       const char *path)
{
	size_t n = strlen(path) + 1;

	if (path[0] != '/' || is_hidden(m, path))
		return true;
	for (const char *p = list; *p; p += strlen(p) + 1)
		if (strcmp(p, path) == 0)
			return true;
	if (*used + n >= SOCKETS_MAX) {
		errno = E2BIG;
		return false;
	}
	memcpy(list + *used, path, n);
	*used += n;
	return true;
}

/* "ffff…: 00000002 00000000 00010000 0001 01 20345 /path" */
static const char *path_of(const char *line)
{
	for (int i = 0; i < 7; i++) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return line;
}

bool mounts_find_sockets(struct mounts *m)
{
	static char text[65536], list[SOCKETS_MAX];
	int fd = open("/proc/net/unix", O_RDONLY | O_CLOEXEC);
	size_t n = 0, used = 0;
	ssize_t got = 0;
	bool done = fd >= 0;

	m->at = "/proc/net/unix";
	m->sockets = list;
	while (done && (got = read(fd, text + n, sizeof text - 1 - n)) > 0) {
		char *line = text, *end;

		n += (size_t)got;
		text[n] = '\0';
		for (; done && (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			done = add_socket(m, list, &used, path_of(line));
		}
		n -= (size_t)(line - text);
		memmove(text, line, n);
	}
	if (fd >= 0)
		close(fd);
	return done && got == 0;
}

/* A socket in a path of the definition is meant to be reachable. */
static bool hide_sockets(struct mounts *m)
{
	const struct namespaces_plan *p = m->plan;
	struct stat st;

	for (const char *s = m->sockets; *s; s += strlen(s) + 1) {
		bool visible = false;

		for (int i = 0; i < p->nvisible; i++)
			visible = visible ||
				  path_is_below(s, p->visible[i].path);
		m->at = s;
		if (!visible && stat(s, &st) == 0 && S_ISSOCK(st.st_mode) &&
		    !hide_file(s))
			return false;
	}
	return true;
}

/* Shows only the run's own processes. */
static bool mask_proc(struct mounts *m)
{
	m->at = "/proc";
	return m->plan->host_pids ||
	       mount("proc", "/proc", "proc",
		     MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL) == 0;
}

bool mounts_make(struct mounts *m)
{
	const struct namespaces_plan *p = m->plan;
	char tmp[64];

	snprintf(tmp, sizeof tmp, "mode=1777,size=%lld", (long long)p->tmp);
	m->at = "/";
	if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
		return false;
	return open_trees(m) && make_read_only(m) && make_dev(m, tmp) &&
	       hide_secrets(m) && hide_services(m) && mask(m, "/tmp", tmp) &&
	       hide_homes(m) && (!p->hidden || mask(m, p->hidden, EMPTY)) &&
	       place_written(m) && hide_keys(m) && hide_sockets(m) &&
	       mask_proc(m);
}
