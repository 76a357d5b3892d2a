#include "sandbox/space.h"

#include "sandbox/jump.h"
#include "sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define INIT_NAME "skep-init"

/* Everything from fork to the end of the maker is beside threads that may hold
 * any lock: system calls, and nothing that takes memory. */
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

/* The user namespace, if it exists before, was entered by jump(). */
static bool enter_workspace(const struct space_plan *p)
{
	return (p->mnt < 0 || setns(p->mnt, CLONE_NEWNS) == 0) &&
	       (p->root < 0 || (fchdir(p->root) == 0 && chroot(".") == 0));
}

static bool needs_users(const struct space_plan *p)
{
	return geteuid() != 0 && p->user < 0;
}

static bool make(const struct space_plan *p, uid_t uid, gid_t gid,
		 struct mounts *m)
{
	m->at = "the workspace's namespace";
	if (!enter_workspace(p))
		return false;
	if (!mounts_find_sockets(m))
		return false;
	m->at = "namespaces";
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC |
		    (p->network == NETWORK_HOST ? 0 : CLONE_NEWNET)))
		return false;
	m->at = "user IDs";
	if (uid != 0 && p->user < 0 && !map_ids(uid, gid))
		return false;
	m->at = "loopback";
	if (p->network != NETWORK_HOST && !loopback_up())
		return false;
	return mounts_make(m);
}

/* --- the maker, which becomes init --------------------------------------- */

/* What the maker says: "" for done, or what failed and why. */
struct told {
	int sys;
	char at[200];
};

struct maker {
	const struct space_plan *plan;
	uid_t uid; /* of the caller */
	gid_t gid;
	int tell[2], go[2];
};

/* Children of an ignored SIGCHLD are reaped by the kernel. Nothing of ours is to
 * be found in it: no descriptor, and no memory for those that look. */
static void be_init(void) __attribute__((noreturn));

static void be_init(void)
{
	sigset_t all;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)signal(SIGCHLD, SIG_IGN);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NAME, INIT_NAME, 0, 0, 0);
	(void)syscall(SYS_close_range, 0U, ~0U, 0U);
	for (;;)
		pause();
}

/* If the caller is gone before it says go, the pipe ends. */
static void be_maker(void *arg)
{
	const struct maker *k = arg;
	struct mounts m = {.plan = k->plan};
	struct told t = {0};
	char c;

	close(k->go[1]);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (!make(k->plan, k->uid, k->gid, &m)) {
		t.sys = errno ? errno : EINVAL;
		snprintf(t.at, sizeof t.at, "%s", m.at);
	}
	(void)!write(k->tell[1], &t, sizeof t);
	if (read(k->go[0], &c, 1) == 1 && !k->plan->host_pids)
		be_init();
	_exit(0);
}

/* --- the caller ---------------------------------------------------------- */

static int hold_one(pid_t pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int hold(struct space *s, const struct space_plan *p, pid_t pid,
		struct err *e)
{
	s->mnt = hold_one(pid, "ns/mnt");
	s->ipc = hold_one(pid, "ns/ipc");
	s->root = hold_one(pid, "root");
	if (geteuid() != 0)
		s->user = hold_one(pid, "ns/user");
	if (p->network != NETWORK_HOST)
		s->net = hold_one(pid, "ns/net");
	if (!p->host_pids)
		s->pid = hold_one(pid, "ns/pid");
	if (s->mnt < 0 || s->ipc < 0 || s->root < 0 ||
	    (geteuid() != 0 && s->user < 0) ||
	    (p->network != NETWORK_HOST && s->net < 0) ||
	    (!p->host_pids && s->pid < 0))
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

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Reaps a maker that is no init, or init when it is told to end. */
static void end_maker(struct space *s)
{
	if (s->init_fd >= 0) {
		(void)syscall(SYS_pidfd_send_signal, s->init_fd, SIGKILL, NULL,
			      0);
		while (waitid(P_PIDFD, (id_t)s->init_fd, NULL, WEXITED) < 0 &&
		       errno == EINTR)
			;
	}
	shut(&s->init_fd);
	s->init = 0;
}

static int start_maker(struct space *s, struct maker *k, struct err *e)
{
	const struct space_plan *p = k->plan;
	struct jump j = {.user = p->user,
			 .pid = -1,
			 .flags = (needs_users(p) ? CLONE_NEWUSER : 0U) |
				  (p->host_pids ? 0U : CLONE_NEWPID),
			 .fn = be_maker,
			 .arg = k,
			 .pidfd = &s->init_fd};
	int rc;

	s->init = jump(&j);
	shut(&k->tell[1]);
	if (s->init < 0) {
		s->init_fd = -1;
		return err_set(e, ERR_UNSUPPORTED,
			       "a process in namespaces: %s", strerror(errno));
	}
	rc = follow(s, p, s->init, k->tell[0], e);
	if (rc == 0 && write(k->go[1], "", 1) != 1)
		rc = err_errno_set(e, "the sandbox's init");
	return rc;
}

static int try_make(struct space *s, const struct space_plan *p, struct err *e)
{
	struct maker k = {.plan = p,
			  .uid = geteuid(),
			  .gid = getegid(),
			  .tell = {-1, -1},
			  .go = {-1, -1}};
	int rc;

	*s = (struct space)SPACE_NONE;
	if (pipe2(k.tell, O_CLOEXEC) || pipe2(k.go, O_CLOEXEC))
		rc = err_errno_set(e, "pipe");
	else
		rc = start_maker(s, &k, e);
	for (int i = 0; i < 2; i++) {
		shut(&k.tell[i]);
		shut(&k.go[i]);
	}
	if (rc)
		space_drop(s);
	else if (p->host_pids)
		end_maker(s);
	return rc;
}

int space_make(struct space *s, const struct space_plan *p, struct err *e)
{
	struct space_plan without = *p;

	if (try_make(s, p, e) == 0)
		return 0;
	without.host_pids = true;
	return p->host_pids ? -1 : try_make(s, &without, e);
}

void space_drop(struct space *s)
{
	end_maker(s);
	shut(&s->user);
	shut(&s->mnt);
	shut(&s->net);
	shut(&s->ipc);
	shut(&s->pid);
	shut(&s->root);
}

/* --- commands ------------------------------------------------------------ */

pid_t space_start(const struct space *s, void (*fn)(void *), void *arg)
{
	struct jump j = {.user = s->user, .pid = s->pid, .fn = fn, .arg = arg};

	return jump(&j);
}

/* setns to the root of another mount namespace leaves a chroot. */
int space_enter(const struct space *s)
{
	if (s->mnt < 0)
		return 0;
	if ((s->ipc >= 0 && setns(s->ipc, CLONE_NEWIPC)) ||
	    (s->net >= 0 && setns(s->net, CLONE_NEWNET)) ||
	    setns(s->mnt, CLONE_NEWNS) || fchdir(s->root) || chroot("."))
		return -1;
	return 0;
}
