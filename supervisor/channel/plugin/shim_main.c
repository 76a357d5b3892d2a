/*
 * skep-plugin-shim: one per plugin, between skepd and it (shim.h). It is as small
 * as a process can be, and sleeps until a child ends or a signal comes.
 */
#include "ipc/plugin_shim.h"

#include "ipc/spawn.h"
#include "lib/base/err.h"
#include "lib/os/proc.h"
#include "lib/os/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_STATUS (-1)

/* Nobody listens when skepd is gone. */
static void send_shim_event(enum shim_event_kind kind, int value)
{
	struct shim_event t = {(int32_t)kind, value};

	(void)!write(SHIM_FD, &t, sizeof t);
}

/* --- the command ------------------------------------------------------ */

/* As a shell finds it, but a file that is no program is not given to sh. */
static void execute(char **argv)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX];
	int worth = ENOENT; /* what is said in the end */

	if (strchr(argv[0], '/')) {
		(void)execv(argv[0], argv);
		return;
	}
	for (dirs = dirs ? dirs : "/usr/local/bin:/usr/bin:/bin"; dirs;
	     dirs = strchr(dirs, ':') ? strchr(dirs, ':') + 1 : NULL) {
		int n = (int)strcspn(dirs, ":");

		snprintf(path, sizeof path, "%.*s%s%s", n, dirs, n ? "/" : "",
			 argv[0]);
		(void)execv(path, argv);
		if (errno != ENOENT && errno != ENOTDIR)
			worth = errno;
	}
	errno = worth;
}

/* Leads a session of its own, and is killed should the shim be. */
static void become(char **argv, int said, pid_t shim)
{
	sigset_t none;
	int sys;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != shim)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	proc_oom_score(PROC_OOM_WORKER);
	execute(argv);
	sys = errno;
	(void)!write(said, &sys, sizeof sys);
	_exit(127);
}

/* Its pid; -1 with errno. */
static pid_t start_command(char **argv)
{
	pid_t shim = getpid(), pid;
	int said[2], sys = 0;
	ssize_t n = 0;

	if (pipe2(said, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0)
		become(argv, said[1], shim);
	close(said[1]);
	if (pid > 0) /* closed by the exec, or with why there is none */
		n = read(said[0], &sys, sizeof sys);
	close(said[0]);
	if (n <= 0)
		return pid;
	(void)waitpid(pid, NULL, 0); /* we go, and init need not do it */
	errno = sys;
	return -1;
}

/* --- the tree --------------------------------------------------------- */

/* Says so once; true when nobody is left. */
static bool reap_children(pid_t command, int *status)
{
	bool known = *status != NO_STATUS;
	bool empty = tree_reap(command, status);

	if (!known && *status != NO_STATUS)
		send_shim_event(SHIM_ENDED, *status);
	return empty;
}

/* Those that do not go (another user's, or held by the kernel) are left. */
static int end_all(int64_t grace_ms)
{
	int status;
	struct err e;

	if (tree_end(grace_ms, 0, &status, &e) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", SHIM_PROGRAM, e.text);
	return 1;
}

/* Every signal is blocked; those not named here mean nothing to us. SIGHUP is
 * the kernel's word that skepd is gone; anybody may say it, so it is checked. */
static int wait_for_processes(pid_t command, pid_t skepd)
{
	int status = NO_STATUS;
	sigset_t all;

	sigfillset(&all);
	while (!reap_children(command, &status)) {
		int sig = sigwaitinfo(&all, NULL);

		if (sig == SIGTERM) {
			tree_signal(SIGTERM);
			tree_signal(SIGCONT); /* so that it can hear it */
		} else if (sig == SIGQUIT) {
			return end_all(0);
		} else if (sig == SIGHUP && getppid() != skepd) {
			alarm(SHIM_STOP_S);
		} else if (sig == SIGALRM) {
			return end_all(SHIM_GRACE_MS);
		}
	}
	return 0;
}

/* The plugin's ends of the pipes are its alone: that they close says something.
 * The log is kept open for what end_all may have to say. */
static void let_go_of_pipes(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, 0);
	dup2(null, 1);
	close(null);
}

static bool set_up_shim(int argc, char **argv)
{
	const char *mark = getenv(SHIM_MARKER);
	sigset_t all;

	if (argc < 4 || !mark) {
		fprintf(stderr, "%s is started by skepd only\n", SHIM_PROGRAM);
		exit(64);
	}
	setenv(SPAWN_MARKER, mark, 1);
	unsetenv(SHIM_MARKER);
	fcntl(SHIM_FD, F_SETFD, FD_CLOEXEC);
	(void)proc_take_brand(strtoull(argv[2], NULL, 10));
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGHUP);
	/* If skepd was gone before, no signal will tell. */
	return getppid() == (pid_t)strtol(argv[1], NULL, 10);
}

int main(int argc, char **argv)
{
	struct err e;
	pid_t command = -1, skepd = getppid();

	if (!set_up_shim(argc, argv))
		return 0;
	if (tree_own(&e) == 0)
		command = start_command(argv + 3);
	if (command < 0) {
		send_shim_event(SHIM_REFUSED, errno);
		return 0;
	}
	let_go_of_pipes();
	send_shim_event(SHIM_STARTED, command);
	return wait_for_processes(command, skepd);
}
