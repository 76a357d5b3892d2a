#include "sandbox/space.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Everything from fork to the end of the maker is beside threads that may hold
 * any lock: system calls, and nothing that takes memory. */
struct maker {
	const struct space_plan *plan;
	int tree[SPACE_KEPT]; /* of what is kept, taken before it is covered */
	const char *at;       /* what was being done */
};

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

static bool map_ids(uid_t uid, gid_t gid)
{
	char users[64], groups[64];

	snprintf(users, sizeof users, "%u %u 1", uid, uid);
	snprintf(groups, sizeof groups, "%u %u 1", gid, gid);
	return put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", users) &&
	       put("/proc/self/gid_map", groups);
}

/* Without root, a user namespace gives the right to the others. */
static bool split(bool users, bool net)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int flags = CLONE_NEWNS | (net ? CLONE_NEWNET : 0) |
		    (users ? CLONE_NEWUSER : 0);

	return unshare(flags) == 0 && (!users || map_ids(uid, gid));
}

static bool loopback_up(void)
{
	struct ifreq lo = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool done;

	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	done = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
	if (fd >= 0)
		close(fd);
	return done;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* Directories up to the place, and an empty file there if it is for one. */
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

/* What is put back into a directory of theirs would be theirs to write. */
static bool take_trees(struct maker *m)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};

	for (int i = 0; i < m->plan->nkept; i++) {
		m->at = m->plan->kept[i];
		m->tree[i] = open_tree(AT_FDCWD, m->at,
				       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
					       AT_RECURSIVE);
		if (m->tree[i] >= 0 && i >= m->plan->nwritten &&
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

/* A file in a directory that is kept too came back with it, when one cover lies
 * below another: it cannot be put onto itself. */
static bool is_back(int tree, const char *path)
{
	uint64_t there = mount_of(AT_FDCWD, path, AT_NO_AUTOMOUNT);

	return there && there == mount_of(tree, "", AT_EMPTY_PATH);
}

/* An empty directory over it, with what is kept below it put back. */
static bool cover(struct maker *m, const char *dir, const char *options)
{
	struct stat st;

	m->at = dir;
	if (stat(dir, &st))
		return true; /* covered already, or not there */
	if (mount("skep", dir, "tmpfs", MS_NOSUID | MS_NODEV, options))
		return false;
	for (int i = 0; i < m->plan->nkept; i++) {
		const char *path = m->plan->kept[i];

		m->at = path;
		if (m->tree[i] < 0 || !is_below(path, dir) ||
		    is_back(m->tree[i], path))
			continue;
		if (fstat(m->tree[i], &st) ||
		    !make_place(path, S_ISDIR(st.st_mode)))
			return false;
		if (move_mount(m->tree[i], "", AT_FDCWD, path,
			       MOVE_MOUNT_F_EMPTY_PATH))
			return false;
	}
	return true;
}

/* Services of the machine that a command must not reach. */
static bool cover_services(struct maker *m)
{
	static const char *const dirs[] = {
#define COVER_DIR(path) path,
#define COVER_SOCKET(path)
#include "sandbox/sockets.def"
#undef COVER_DIR
#undef COVER_SOCKET
	};
	static const char *const sockets[] = {
#define COVER_DIR(path)
#define COVER_SOCKET(path) path,
#include "sandbox/sockets.def"
#undef COVER_DIR
#undef COVER_SOCKET
	};
	struct stat st;

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		if (!cover(m, dirs[i], "mode=0755,size=64k"))
			return false;
	for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++) {
		m->at = sockets[i];
		if (stat(sockets[i], &st) == 0 && S_ISSOCK(st.st_mode) &&
		    mount("/dev/null", sockets[i], NULL, MS_BIND, NULL))
			return false;
	}
	return true;
}

static bool enter(const struct space_plan *p)
{
	return (p->user < 0 || setns(p->user, CLONE_NEWUSER) == 0) &&
	       (p->mnt < 0 || setns(p->mnt, CLONE_NEWNS) == 0) &&
	       (p->root < 0 || (fchdir(p->root) == 0 && chroot(".") == 0));
}

static bool make(struct maker *m)
{
	const struct space_plan *p = m->plan;
	bool users = geteuid() != 0 && p->user < 0;
	char tmp[64];

	snprintf(tmp, sizeof tmp, "mode=1777,size=%lld", (long long)p->tmp);
	m->at = "the workspace's namespace";
	if (!enter(p))
		return false;
	m->at = "namespaces";
	if (!split(users, p->network != NETWORK_HOST))
		return false;
	m->at = "loopback";
	if (p->network == NETWORK_LOOPBACK && !loopback_up())
		return false;
	m->at = "/";
	if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL))
		return false;
	return take_trees(m) && cover_services(m) && cover(m, "/tmp", tmp) &&
	       cover(m, "/dev/shm", tmp) &&
	       (!p->hidden || cover(m, p->hidden, "mode=0755,size=64k"));
}

int space_try(void)
{
	struct space_plan p = {.user = -1,
			       .mnt = -1,
			       .root = -1,
			       .network = NETWORK_LOOPBACK,
			       .tmp = 65536};
	struct maker m = {.plan = &p};

	return make(&m) ? 0 : -1;
}

/* What the maker says: "" for done, or what failed and why. */
struct told {
	int sys;
	char at[200];
};

static void be_maker(const struct space_plan *p, int tell, int hold)
	__attribute__((noreturn));

static void be_maker(const struct space_plan *p, int tell, int hold)
{
	struct maker m = {.plan = p};
	struct told t = {0};
	char c;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (!make(&m)) {
		t.sys = errno ? errno : EINVAL;
		snprintf(t.at, sizeof t.at, "%s", m.at);
	}
	(void)!write(tell, &t, sizeof t);
	(void)!read(hold, &c, 1);
	_exit(0);
}

static int hold_one(pid_t pid, const char *what, int flags)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
	return open(path, flags | O_CLOEXEC);
}

static int hold(struct space *s, const struct space_plan *p, pid_t pid,
		struct err *e)
{
	s->mnt = hold_one(pid, "ns/mnt", O_RDONLY);
	s->root = hold_one(pid, "root", O_RDONLY);
	s->tmp = hold_one(pid, "root/tmp", O_PATH);
	s->shm = hold_one(pid, "root/dev/shm", O_PATH);
	if (geteuid() != 0)
		s->user = hold_one(pid, "ns/user", O_RDONLY);
	if (p->network != NETWORK_HOST)
		s->net = hold_one(pid, "ns/net", O_RDONLY);
	if (s->mnt < 0 || s->root < 0 || (geteuid() != 0 && s->user < 0) ||
	    (p->network != NETWORK_HOST && s->net < 0))
		return err_errno_set(e, "the namespaces of the sandbox");
	return 0;
}

/* What the maker says, and then its namespaces. */
static int follow(struct space *s, const struct space_plan *p, pid_t pid,
		  int hear, struct err *e)
{
	struct told t;
	ssize_t n;

	do
		n = read(hear, &t, sizeof t);
	while (n < 0 && errno == EINTR);
	if (n != sizeof t)
		return err_set(e, ERR_UNSUPPORTED,
			       "the namespaces of the sandbox: no answer");
	if (t.sys)
		return err_set(e, ERR_UNSUPPORTED,
			       "the namespaces of the sandbox: %s: %s", t.at,
			       strerror(t.sys));
	return hold(s, p, pid, e);
}

int space_make(struct space *s, const struct space_plan *p, struct err *e)
{
	int tell[2], go[2], rc = -1;
	pid_t pid;

	*s = (struct space){-1, -1, -1, -1, -1, -1};
	if (pipe2(tell, O_CLOEXEC))
		return err_errno_set(e, "pipe");
	if (pipe2(go, O_CLOEXEC)) {
		close(tell[0]);
		close(tell[1]);
		return err_errno_set(e, "pipe");
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		be_maker(p, tell[1], go[0]);
	}
	close(tell[1]);
	rc = pid < 0 ? err_errno_set(e, "fork") : follow(s, p, pid, tell[0], e);
	close(tell[0]);
	close(go[0]);
	close(go[1]);
	if (rc)
		space_drop(s);
	return rc;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void space_drop(struct space *s)
{
	shut(&s->user);
	shut(&s->mnt);
	shut(&s->net);
	shut(&s->root);
	shut(&s->tmp);
	shut(&s->shm);
}
