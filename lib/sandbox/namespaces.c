#include "lib/sandbox/namespaces.h"

#include "lib/sandbox/mounts.h"
#include "lib/sandbox/ns_clone.h"
#include "lib/sandbox/plan.h"
#include "lib/sandbox/prepared.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define INIT_NAME  "skep-init"
#define WORKER_FDS 64 /* descriptors of a worker without a run are below it */

/* Everything from fork to the end of the maker runs beside threads that may
 * hold any lock: system calls only, and no allocation. */

/* The user namespace, if it already exists, was entered by ns_clone(). */
static bool enter_workspace(const struct namespaces_plan *p)
{
	return (p->mnt < 0 || setns(p->mnt, CLONE_NEWNS) == 0) &&
	       (p->root < 0 || (fchdir(p->root) == 0 && chroot(".") == 0));
}

static bool needs_users(const struct namespaces_plan *p)
{
	return geteuid() != 0 && p->user < 0;
}

/* Existing ones are entered. */
static bool make_namespaces(const struct namespaces_plan *p)
{
	if (p->ready.net >= 0)
		return setns(p->ready.net, CLONE_NEWNET) == 0 &&
		       setns(p->ready.ipc, CLONE_NEWIPC) == 0 &&
		       unshare(CLONE_NEWNS) == 0;
	return unshare(CLONE_NEWNS | CLONE_NEWIPC |
		       (p->network == NETWORK_HOST ? 0 : CLONE_NEWNET)) == 0;
}

static bool make_in_child(const struct namespaces_plan *p, uid_t uid, gid_t gid,
			  struct mounts *m)
{
	m->at = "the workspace's namespace";
	if (!enter_workspace(p))
		return false;
	if (!mounts_find_sockets(m))
		return false;
	m->at = "namespaces";
	if (!make_namespaces(p))
		return false;
	m->at = "user IDs";
	if (uid != 0 && p->user < 0 && !ready_map_ids(uid, gid))
		return false;
	m->at = "loopback";
	if (p->network != NETWORK_HOST && p->ready.net < 0 &&
	    !ready_loopback_up())
		return false;
	return mounts_make(m);
}

/* --- the maker, which becomes init --------------------------------------- */

/* The maker's report: "" for success, or what failed and why. */
struct maker_report {
	int sys;
	char at[200];
};

struct maker {
	const struct namespaces_plan *plan;
	uid_t uid; /* of the caller */
	gid_t gid;
	int report[2], go[2];
	bool waits; /* until the pipe says that the plan is there */
};

/* The kernel reaps children if SIGCHLD is ignored. Init must not expose
 * anything of ours: no descriptor, and no readable memory. */
static void run_init(void) __attribute__((noreturn));

static void run_init(void)
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

/* It keeps nothing of a preforked worker open, especially not the pipes through
 * which the worker is started. */
static bool await_plan(const struct maker *k)
{
	const struct ready *r = &k->plan->ready;
	char c;

	(void)prctl(PR_SET_NAME, INIT_NAME, 0, 0, 0);
	for (int fd = 0; fd < WORKER_FDS; fd++)
		if (fd != r->net && fd != r->ipc && fd != k->report[1] &&
		    fd != k->go[0])
			close(fd);
	return read(k->go[0], &c, 1) == 1;
}

/* If the caller dies before it says go, the pipe is closed. */
static void run_maker(void *arg)
{
	const struct maker *k = arg;
	struct mounts m = {.plan = k->plan};
	struct maker_report t = {0};
	char c;

	close(k->go[1]);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (k->waits && !await_plan(k))
		_exit(0);
	if (!make_in_child(k->plan, k->uid, k->gid, &m)) {
		t.sys = errno ? errno : EINVAL;
		snprintf(t.at, sizeof t.at, "%s", m.at);
	}
	(void)!write(k->report[1], &t, sizeof t);
	if (read(k->go[0], &c, 1) == 1 && !k->plan->host_pids)
		run_init();
	_exit(0);
}

/* --- the caller ---------------------------------------------------------- */

static int open_proc_entry(pid_t pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_namespaces(struct namespaces *s,
			   const struct namespaces_plan *p, pid_t pid,
			   struct err *e)
{
	s->mnt = open_proc_entry(pid, "ns/mnt");
	s->ipc = open_proc_entry(pid, "ns/ipc");
	s->root = open_proc_entry(pid, "root");
	if (geteuid() != 0)
		s->user = open_proc_entry(pid, "ns/user");
	if (p->network != NETWORK_HOST)
		s->net = open_proc_entry(pid, "ns/net");
	if (!p->host_pids)
		s->pid = open_proc_entry(pid, "ns/pid");
	if (s->mnt < 0 || s->ipc < 0 || s->root < 0 ||
	    (geteuid() != 0 && s->user < 0) ||
	    (p->network != NETWORK_HOST && s->net < 0) ||
	    (!p->host_pids && s->pid < 0))
		return err_errno_set(e, "the namespaces of the sandbox");
	return 0;
}

/* Reads the maker's report, then opens its namespaces. */
static int receive_namespaces(struct namespaces *s,
			      const struct namespaces_plan *p, pid_t pid,
			      int report_fd, struct err *e)
{
	struct maker_report t;
	ssize_t n;

	do
		n = read(report_fd, &t, sizeof t);
	while (n < 0 && errno == EINTR);
	if (n != sizeof t)
		return err_set(e, ERR_UNSUPPORTED,
			       "the namespaces of the sandbox: no response");
	if (t.sys)
		return err_set(e, ERR_UNSUPPORTED,
			       "the namespaces of the sandbox: %s: %s", t.at,
			       strerror(t.sys));
	return open_namespaces(s, p, pid, e);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Reaps a maker that is not init, or kills and reaps an init. */
static void reap_maker(struct namespaces *s)
{
	if (s->init_fd >= 0) {
		(void)syscall(SYS_pidfd_send_signal, s->init_fd, SIGKILL, NULL,
			      0);
		while (waitid(P_PIDFD, (id_t)s->init_fd, NULL, WEXITED) < 0 &&
		       errno == EINTR)
			;
	}
	close_fd(&s->init_fd);
	s->init = 0;
}

static int start_maker(struct namespaces *s, struct maker *k, struct err *e)
{
	const struct namespaces_plan *p = k->plan;
	struct ns_clone j = {.user = p->user,
			     .pid = -1,
			     .flags = (needs_users(p) ? CLONE_NEWUSER : 0U) |
				      (p->host_pids ? 0U : CLONE_NEWPID),
			     .fn = run_maker,
			     .arg = k,
			     .pidfd = &s->init_fd};

	s->init = ns_clone(&j);
	if (s->init >= 0)
		return 0;
	s->init = 0;
	s->init_fd = -1;
	return err_set(e, ERR_UNSUPPORTED, "a process in namespaces: %s",
		       strerror(errno));
}

static int begin_namespaces(struct namespaces *s,
			    const struct namespaces_plan *p, bool waits,
			    struct err *e)
{
	struct maker k = {.plan = p,
			  .uid = geteuid(),
			  .gid = getegid(),
			  .report = {-1, -1},
			  .go = {-1, -1},
			  .waits = waits};
	int rc;

	*s = (struct namespaces)NAMESPACES_NONE;
	if (pipe2(k.report, O_CLOEXEC) || pipe2(k.go, O_CLOEXEC))
		rc = err_errno_set(e, "pipe");
	else
		rc = start_maker(s, &k, e);
	close_fd(&k.report[1]);
	close_fd(&k.go[0]);
	s->report = k.report[0];
	s->go = k.go[1];
	if (rc)
		namespaces_drop(s);
	return rc;
}

static int finish_namespaces(struct namespaces *s,
			     const struct namespaces_plan *p, struct err *e)
{
	int rc = receive_namespaces(s, p, s->init, s->report, e);

	if (rc == 0 && write(s->go, "", 1) != 1)
		rc = err_errno_set(e, "the sandbox's init");
	close_fd(&s->report);
	close_fd(&s->go);
	if (rc)
		namespaces_drop(s);
	else if (p->host_pids)
		reap_maker(s);
	return rc;
}

/* --- before there is a plan ----------------------------------------------- */

static struct {
	struct namespaces namespaces;
	struct plan_page *page; /* NULL: nothing was prepared */
} prepared = {.namespaces = NAMESPACES_NONE};

void namespaces_prepare(void)
{
	struct plan_page *page = plan_page_new();
	struct err ignored; /* namespaces_make then makes all of it */
	struct ready ready;

	if (!page)
		return;
	page->plan = (struct namespaces_plan){
		.user = -1, .mnt = -1, .root = -1};
	if (ready_make(&ready)) {
		page->plan.ready = ready;
		page->plan.user = ready.user;
		if (begin_namespaces(&prepared.namespaces, &page->plan, true,
				     &ignored) == 0)
			prepared.page = page;
		ready_close(&ready);
	}
	if (!prepared.page)
		plan_page_free(page);
}

pid_t namespaces_prepared(void)
{
	return prepared.page ? prepared.namespaces.init : 0;
}

void namespaces_unprepare(void)
{
	if (prepared.page)
		namespaces_drop(&prepared.namespaces);
	plan_page_free(prepared.page);
	prepared.page = NULL;
}

static bool fits_prepared(const struct namespaces_plan *p)
{
	return prepared.page && p->network != NETWORK_HOST && p->user < 0 &&
	       p->mnt < 0 && p->root < 0 && !p->host_pids;
}

void namespaces_begin(struct namespaces *s, const struct namespaces_plan *p)
{
	struct namespaces_plan plan = *p;
	struct err ignored; /* namespaces_make tries again and reports it */

	if (fits_prepared(p) && plan_page_put(prepared.page, p) &&
	    write(prepared.namespaces.go, "", 1) == 1) {
		*s = prepared.namespaces;
		plan_page_free(prepared.page);
		prepared.page = NULL;
		return;
	}
	namespaces_unprepare();
	plan.ready = (struct ready)READY_NONE;
	(void)begin_namespaces(s, &plan, false, &ignored);
}

int namespaces_make(struct namespaces *s, const struct namespaces_plan *p,
		    struct err *e)
{
	struct namespaces_plan plan = *p;

	plan.ready = (struct ready)READY_NONE;
	if (s->init == 0)
		namespaces_begin(s, p);
	if (s->init > 0 && finish_namespaces(s, &plan, e) == 0)
		return 0;
	if (begin_namespaces(s, &plan, false, e) == 0 &&
	    finish_namespaces(s, &plan, e) == 0)
		return 0;
	plan.host_pids = true;
	if (p->host_pids || begin_namespaces(s, &plan, false, e))
		return -1;
	return finish_namespaces(s, &plan, e);
}

/* Closes the descriptors first: the process with the last reference to a
 * namespace tears it down, and that should be init, beside us. */
void namespaces_end(struct namespaces *s)
{
	close_fd(&s->report);
	close_fd(&s->go);
	close_fd(&s->user);
	close_fd(&s->mnt);
	close_fd(&s->net);
	close_fd(&s->ipc);
	close_fd(&s->pid);
	close_fd(&s->root);
	if (s->init_fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, s->init_fd, SIGKILL, NULL,
			      0);
}

void namespaces_drop(struct namespaces *s)
{
	namespaces_end(s);
	reap_maker(s);
}

/* --- commands ------------------------------------------------------------ */

pid_t namespaces_start(const struct namespaces *s, void (*fn)(void *),
		       void *arg)
{
	struct ns_clone j = {.user = s->user,
			     .pid = s->pid,
			     .fn = fn,
			     .arg = arg,
			     .execs = true};

	return ns_clone(&j);
}

/* setns to the root of another mount namespace leaves a chroot. */
int namespaces_enter(const struct namespaces *s)
{
	if (s->mnt < 0)
		return 0;
	if ((s->ipc >= 0 && setns(s->ipc, CLONE_NEWIPC)) ||
	    (s->net >= 0 && setns(s->net, CLONE_NEWNET)) ||
	    setns(s->mnt, CLONE_NEWNS) || fchdir(s->root) || chroot("."))
		return -1;
	return 0;
}
