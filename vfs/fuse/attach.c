#include "vfs/fuse/attach.h"

#include "lib/base/text.h"
#include "vfs/core/vfs.h"
#include "vfs/fuse/mountpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#define POLL_MS       1000
#define ENDED_POLL_US 10000

/* The location of a mount, in the mount namespace of some process. */
struct found {
	char path[PATH_MAX];
	unsigned major, minor;
};

/* mountinfo escapes blanks and backslashes of a path in octal. */
static void unescape(char *p)
{
	char *to = p;

	while (*p) {
		if (p[0] == '\\' && p[1] && p[2] && p[3]) {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 |
				       (p[3] - '0'));
			p += 4;
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
}

/* ID, parent, device, root, path, options, tags, "-", type, source, … */
static bool read_line(const char *line, const char *source, struct found *out)
{
	const char *dash = strstr(line, " - ");
	char root[8], from[256];

	if (!dash || sscanf(dash, " - fuse.skep %255s", from) != 1 ||
	    strcmp(from, source) != 0 ||
	    sscanf(line, "%*d %*d %u:%u %7s %4095s", &out->major, &out->minor,
		   root, out->path) != 4 ||
	    strcmp(root, "/") != 0)
		return false;
	unescape(out->path);
	return true;
}

/* `not`: a path that does not count, or NULL. */
static bool find_in(const char *pid, const char *source, const char * not,
		    struct found *out)
{
	char path[64], *line = NULL;
	size_t cap = 0;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%.20s/mountinfo", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && getline(&line, &cap, f) > 0)
		found = read_line(line, source, out) &&
			(!not || strcmp(out->path, not ) != 0);
	free(line);
	(void)fclose(f);
	return found;
}

/* A detached copy of the mount, if the path leads to it. */
static int clone_tree(const struct found *at)
{
	int fd = open_tree(AT_FDCWD, at->path,
			   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	struct statx x;

	if (fd < 0)
		return -1;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &x) ==
		    0 &&
	    x.stx_dev_major == at->major && x.stx_dev_minor == at->minor)
		return fd;
	close(fd);
	return -1;
}

/* Returns to the previous mount namespace. Without that, nothing this process
 * does is right. */
static void come_back(int ns, int root, int cwd)
{
	if (setns(ns, CLONE_NEWNS) || fchdir(root) || chroot(".") ||
	    fchdir(cwd))
		abort();
}

/* clone_tree in the mount namespace of another process. */
static int clone_from(const char *pid, const struct found *at)
{
	char path[64];
	int ns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	int root = open("/", O_PATH | O_CLOEXEC);
	int cwd = open(".", O_PATH | O_CLOEXEC);
	int there, fd = -1;

	snprintf(path, sizeof path, "/proc/%.20s/ns/mnt", pid);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (ns >= 0 && root >= 0 && cwd >= 0 && there >= 0 &&
	    setns(there, CLONE_NEWNS) == 0) {
		fd = clone_tree(at);
		come_back(ns, root, cwd);
	}
	close(ns);
	close(root);
	close(cwd);
	close(there);
	return fd;
}

/* In this mount namespace, or as root in that of any process. */
static int find_tree(const char *source)
{
	struct found at;
	struct dirent *en;
	DIR *proc;
	int fd = find_in("self", source, NULL, &at) ? clone_tree(&at) : -1;

	if (fd >= 0 || geteuid() != 0)
		return fd;
	proc = opendir("/proc");
	while (proc && fd < 0 && (en = readdir(proc)))
		if (en->d_name[0] > '0' && en->d_name[0] <= '9' &&
		    find_in(en->d_name, source, NULL, &at))
			fd = clone_from(en->d_name, &at);
	if (proc)
		closedir(proc);
	return fd;
}

static int put_tree(int tree, const struct vfs_mount_options *o, struct err *e)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID |
					      MOUNT_ATTR_NODEV};

	if (!o->dev_suid &&
	    mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof attr))
		return err_errno_set(e, "cannot mount on %s", o->dir);
	if (move_mount(tree, "", AT_FDCWD, o->dir, MOVE_MOUNT_F_EMPTY_PATH))
		return err_errno_set(e, "cannot mount on %s", o->dir);
	return 0;
}

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

/* Wakes up when mounts change, and when the server exits. */
static int wait_for_end(const struct vfs_mount_options *o, pid_t server)
{
	const char *dir = o->dir;
	struct pollfd p[] = {
		{.fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC),
		 .events = POLLPRI},
		{.fd = pidfd_open(server, 0), .events = POLLIN},
	};
	uint64_t id = fuse_mount_id(dir);
	struct statfs st;
	int rc = 0;

	while (!stopped && fuse_mount_id(dir) == id) {
		if (statfs(dir, &st) && errno == ENOTCONN) {
			rc = 1;
			break;
		}
		if (p[1].revents & POLLIN)
			usleep(ENDED_POLL_US);
		else
			(void)poll(p, 2, POLL_MS);
	}
	if (!o->own_namespace && fuse_mount_id(dir) == id)
		umount2(dir, MNT_DETACH);
	close(p[0].fd);
	close(p[1].fd);
	return rc;
}

static void name_of(const char *pid, char name[64])
{
	char path[64];
	FILE *f;

	name[0] = '\0';
	snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(name, 64, f))
		name[strcspn(name, "\n")] = '\0';
	if (f)
		(void)fclose(f);
}

static bool is_run(const char *name)
{
	return strcmp(name, "skep-worker") == 0;
}

pid_t attach_run(const struct vfs *v, const char *dir)
{
	char source[256], name[64], full[PATH_MAX];
	const struct dirent *en;
	struct found at;
	pid_t run = 0;
	DIR *proc = opendir("/proc");

	snprintf(source, sizeof source, MOUNT_SOURCE, vfs_name(v),
		 (long)getpid());
	if (!realpath(dir, full))
		snprintf(full, sizeof full, "%s", dir);
	while (proc && !run && (en = readdir(proc))) {
		if (en->d_name[0] <= '0' || en->d_name[0] > '9')
			continue;
		name_of(en->d_name, name);
		if (is_run(name) && find_in(en->d_name, source, full, &at))
			run = (pid_t)strtol(en->d_name, NULL, 10);
	}
	if (proc)
		closedir(proc);
	return run;
}

static int in_use(const struct vfs *v, pid_t server, struct err *e)
{
	char pid[24], name[64];

	snprintf(pid, sizeof pid, "%ld", (long)server);
	name_of(pid, name);
	return err_set(e, ERR_BUSY,
		       "namespace %s is mounted by %s (process "
		       "%ld), and this mount is not visible here; "
		       "end it first",
		       vfs_name(v), is_run(name) ? "a run" : name,
		       (long)server);
}

int attach_mount(struct vfs *v, const struct vfs_mount_options *o, pid_t server,
		 struct err *e)
{
	struct sigaction on = {.sa_handler = stop};
	char source[256];
	int tree, rc;

	snprintf(source, sizeof source, MOUNT_SOURCE, vfs_name(v),
		 (long)server);
	tree = find_tree(source);
	if (tree < 0)
		return in_use(v, server, e);
	rc = put_tree(tree, o, e);
	close(tree);
	if (rc)
		return -1;
	stopped = 0;
	sigaction(SIGTERM, &on, NULL);
	sigaction(SIGINT, &on, NULL);
	sigaction(SIGHUP, &on, NULL);
	if (o->mounted && o->mounted(o->arg, e))
		return -1;
	if (o->ready)
		o->ready(o->arg);
	rc = wait_for_end(o, server);
	return rc && o->mounted ? err_set(e, ERR_IO,
					  "process %ld no longer serves "
					  "the mount",
					  (long)server)
				: rc;
}
