/*
 * skep-spawner: the process that starts workers and the shims of plugins. It is
 * small, has one thread and its memory does not grow, so that forking it costs
 * the same for the thousandth worker as for the first. It exits with skepd (by
 * a signal of the kernel, so that no worker can start after skepd has died);
 * workers continue.
 *
 * As a child subreaper it inherits the processes that a dead worker leaves.
 */
#include "ipc/spawn.h"

#include "lib/base/err.h"
#include "lib/base/fault.h"
#include "lib/base/id.h"
#include "lib/base/mark.h"
#include "lib/os/proc.h"
#include "lib/sandbox/seccomp.h"
#include "worker/run/attempt.h"
#include "worker/spawner/plugin_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *marker; /* position of SPAWN_MARKER=… in the environment */
static char *title;  /* name in ps */
static size_t title_room;

#define START_BARRIER_FD 3 /* of a preforked worker */
#define WORKER_NAME      "skep-worker"
static char worker_name[] = WORKER_NAME, shim_name[] = SHIM_NAME;

/* --- packets ---------------------------------------------------------- */

/* Sends a packet, with a descriptor unless fd is -1. If skepd has died, the
 * next receive fails. */
static void send_spawn_event(const struct spawn_event *t, int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct spawn_event copy = *t;
	struct iovec iov = {&copy, sizeof copy};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (fd >= 0) {
		memset(&control, 0, sizeof control);
		msg.msg_control = &control;
		msg.msg_controllen = sizeof control;
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	while (sendmsg(SPAWN_FD, &msg, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* Receives the next request and its descriptors, or -1. False: the end. */
static bool receive_request(struct spawn_request *request,
			    int fds[SPAWN_PASSED])
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(SPAWN_PASSED * sizeof(int))];
	} control;
	struct iovec iov = {request, sizeof *request};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof control};
	struct cmsghdr *c;
	ssize_t n;

	for (int i = 0; i < SPAWN_PASSED; i++)
		fds[i] = -1;
	do
		n = recvmsg(SPAWN_FD, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof *request)
		return false;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return true;
}

/* --- the worker ------------------------------------------------------- */

/* Creates its cgroup, if possible: returns the directory, or -1. */
static int make_cgroup(const char *dir)
{
	if (!dir[0] || (mkdir(dir, 0755) && errno != EEXIST))
		return -1;
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * fork(2) into a cgroup. Moving a process there afterwards would wait for all
 * CPUs, for milliseconds. The C library stores the id of the thread at an
 * address that the kernel knows too; that of the child has to be stored there,
 * as fork does. -1 with ENOSYS if the kernel does not support it.
 */
static pid_t fork_into(int cgroup)
{
	int *tid = NULL;
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP | CLONE_CHILD_SETTID |
			 CLONE_CHILD_CLEARTID,
		.exit_signal = SIGCHLD,
		.cgroup = (unsigned)cgroup,
	};

	errno = ENOSYS;
	if (cgroup < 0 || prctl(PR_GET_TID_ADDRESS, &tid) || !tid)
		return -1;
	args.child_tid = (uint64_t)(uintptr_t)tid;
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* Sets the names of this process: in its environment, and in ps. A preforked
 * worker gets its run later. */
static void take_name(const char *run)
{
	snprintf(marker, SPAWN_RUN, "%s", run);
	memset(title, 0, title_room);
	snprintf(title, title_room, "%s %s", program_invocation_short_name,
		 run);
}

static void exit_spawner(char *name, const char *run)
{
	sigset_t none;

	setsid();
	signal(SIGINT, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, name);
	program_invocation_short_name = name;
	take_name(run);
}

static void become_worker(const struct spawn_request *request, const int *fds)
	__attribute__((noreturn));

/* The worker is the same program: nothing has to be loaded, and most pages are
 * in memory. Descriptors of the spawner are closed, and names are changed. */
static void become_worker(const struct spawn_request *request, const int *fds)
{
	exit_spawner(worker_name, request->run);
	proc_oom_score(PROC_OOM_WORKER);
	if (dup2(fds[0], 0) < 0 ||
	    (fds[1] >= 0 && dup2(fds[1], START_BARRIER_FD) < 0))
		_exit(71);
	syscall(SYS_close_range,
		fds[1] < 0 ? START_BARRIER_FD : START_BARRIER_FD + 1U, ~0U, 0U);
	cgroup_join(request->limits, request->cgroup);
	/* skepd finds and removes the cgroups of a preforked worker through its
	 * unified cgroup */
	if (request->cgroup[0] && id_is(ID_PREFORK, request->run))
		cgroup_enter_early();
	exit(worker_main(0, fds[1] < 0 ? -1 : START_BARRIER_FD, take_name));
}

static void become_shim(const struct spawn_request *request, const int *fds)
{
	exit_spawner(shim_name, request->run);
	cgroup_join(request->limits, request->cgroup);
	exit(plugin_shim_main(fds));
}

static pid_t start_process(const struct spawn_request *request, const int *fds,
			   struct spawn_event *event)
{
	int cgroup = make_cgroup(request->cgroup);
	pid_t pid;

	cgroup_set(request->limits);
	/* Before the fork, so that the child has the marker from its start. */
	snprintf(marker, SPAWN_RUN, "%s", request->run);
	pid = fork_into(cgroup);
	event->in_cgroup = pid > 0;
	if (pid < 0)
		pid = fork();
	if (pid == 0 && request->program == SPAWN_PLUGIN)
		become_shim(request, fds);
	else if (pid == 0)
		become_worker(request, fds);
	if (pid < 0)
		event->status = errno;
	if (cgroup >= 0)
		close(cgroup);
	return pid;
}

static void spawn(const struct spawn_request *request, const int *fds)
{
	struct spawn_event event = {.kind = SPAWN_FAILED,
				    .attempt = request->attempt};
	struct proc_stat st = {0};
	struct err e;
	int pidfd = -1;
	pid_t pid = -1;

	memcpy(event.run, request->run, sizeof event.run);
	if (fds[0] < 0)
		event.status = EBADF;
	else if (fault_point(FAULT_spawner_before_fork, &e))
		event.status = EAGAIN;
	else
		pid = start_process(request, fds, &event);
	if (pid > 0) {
		/* Not reaped yet, so its pid is not reused. */
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		proc_stat(pid, &st);
		event.kind = SPAWN_STARTED;
		event.pid = pid;
		event.start_ticks = st.start_ticks;
		if (fault_point(FAULT_spawner_after_fork, &e))
			_exit(70);
	}
	send_spawn_event(&event, pidfd);
	if (pidfd >= 0)
		close(pidfd);
}

static void reap(void)
{
	struct spawn_event event = {.kind = SPAWN_EXITED};
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		event.pid = pid;
		event.status = status;
		send_spawn_event(&event, -1);
	}
}

/* --- the loop --------------------------------------------------------- */

static void close_passed(const int *fds)
{
	for (int i = 0; i < SPAWN_PASSED; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Compiled once, and inherited by every worker. A failure is reported by the
 * workers that need it. */
static void prepare_filters(void)
{
	struct err e;

	for (int i = 0; i <= SECCOMP_FOR_HOST_PIDS; i++)
		(void)seccomp_get((enum seccomp_for)i, &e);
}

static void set_up_spawner(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	marker = getenv(SPAWN_MARKER);
	if (argc != 2 || !marker || strlen(marker) != SPAWN_RUN - 1) {
		fprintf(stderr, "%s is started by skepd only\n", SPAWN_PROGRAM);
		exit(64);
	}
	title = argv[0];
	title_room = (size_t)(argv[1] + strlen(argv[1]) + 1 - argv[0]);
	memset(argv[1], 0, strlen(argv[1]));
	prepare_filters();
}

int main(int argc, char **argv)
{
	struct pollfd fds[2] = {{.fd = SPAWN_FD, .events = POLLIN},
				{.events = POLLIN}};
	struct signalfd_siginfo drop;
	struct spawn_request request;
	sigset_t mask;
	int passed[SPAWN_PASSED];

	set_up_spawner(argc, argv);
	mark_open();
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGINT, SIG_IGN); /* of a terminal; skepd decides */
	fds[1].fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	fcntl(SPAWN_FD, F_SETFD, FD_CLOEXEC);
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return 71;
		if (fds[0].revents) {
			if (!receive_request(&request, passed))
				return 0;
			spawn(&request, passed);
			close_passed(passed);
		}
		if (fds[1].revents) {
			while (read(fds[1].fd, &drop, sizeof drop) > 0)
				;
			reap();
		}
	}
}
