#include "worker/spawner/plugin_shim.h"

#include "lib/base/clock.h"
#include "lib/os/proc.h"
#include "lib/os/process_tree.h"
#include "worker/spawner/plugin_start.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS    3 /* our end of the socket */
#define NO_STATUS (-1)
#define NS_PER_MS 1000000

/* After the exit of skepd no process receives it. */
static void send_event(const struct shim_event *event)
{
	(void)!send(EVENTS, event, sizeof *event, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_refusal(const struct err *e)
{
	struct shim_event event = {.kind = SHIM_REFUSED};

	static_assert(sizeof event.text == sizeof e->text,
		      "an event has room for the reason");
	memcpy(event.text, e->text, sizeof event.text);
	send_event(&event);
}

/* --- the command ------------------------------------------------------ */

/* Finds it as a shell does, but a file that is not a program is not passed to
 * sh. */
static void execute(char **argv)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX];
	int worth = ENOENT; /* text of the last event */

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

/* skepd ignores some signals. */
static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The service manager of skepd expects notifications from skepd only. */
static void set_environment(const struct plugin_start *s)
{
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	setenv("SKEP_HOME", s->home, 1);
	setenv("SKEP_CHANNEL", s->channel, 1);
}

struct birth {
	const struct plugin_start *start;
	const struct sandbox *sandbox; /* or NULL */
	int failed;
	pid_t shim;
};

static bool enter_sandbox(const struct birth *b)
{
	return (!b->sandbox || sandbox_enter_namespaces(b->sandbox) == 0) &&
	       chdir(b->start->home) == 0 &&
	       (!b->sandbox || sandbox_enforce(b->sandbox) == 0);
}

/* Leads its own session, and is killed if the shim is. In a PID namespace the
 * pid of the shim is not visible. It shares the memory of the shim: system
 * calls only. */
static void become_plugin(void *arg)
{
	const struct birth *b = arg;
	pid_t parent;
	int sys;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	parent = getppid();
	if (parent && parent != b->shim)
		_exit(127);
	reset_signals();
	if (enter_sandbox(b))
		execute(b->start->argv);
	sys = errno;
	(void)!write(b->failed, &sys, sizeof sys);
	_exit(127);
}

static int explain_failure(const struct plugin_start *s, int sys, struct err *e)
{
	bool hidden = sys == ENOENT && plugin_start_sandbox(s);

	return err_set(e, ERR_NOTFOUND, "cannot start %s: %s%s", s->argv[0],
		       strerror(sys),
		       hidden ? " in the sandbox, which has its own /tmp and "
				"hides home directories; the setting paths "
				"shows more (docs/SANDBOX.md)"
			      : "");
}

/* Returns its pid, or -1. */
static pid_t start_plugin(const struct plugin_start *s, struct err *e)
{
	struct birth b = {.start = s,
			  .sandbox = plugin_start_sandbox(s),
			  .shim = getpid()};
	int failed[2], sys = 0;
	ssize_t n = 0;
	pid_t pid;

	if (pipe2(failed, O_CLOEXEC))
		return err_errno_set(e, "cannot create a pipe for a plugin");
	b.failed = failed[1];
	pid = sandbox_start(b.sandbox, become_plugin, &b);
	if (pid < 0)
		err_errno_set(e, "cannot fork a plugin");
	close(failed[1]);
	if (pid > 0) /* closed by exec, or contains the reason of its failure */
		n = read(failed[0], &sys, sizeof sys);
	close(failed[0]);
	if (n <= 0)
		return pid;
	(void)waitpid(pid, NULL, 0);
	return explain_failure(s, sys, e);
}

/* --- the tree --------------------------------------------------------- */

/* Reports the end of the plugin once; true when no process is left. */
static bool all_exited(pid_t plugin, int *status)
{
	bool known = *status != NO_STATUS;
	bool empty = tree_reap(plugin, status);

	if (!known && *status != NO_STATUS)
		send_event(&(struct shim_event){.kind = SHIM_ENDED,
						.value = *status});
	return empty;
}

/* A process of another user, or one in the kernel, stays. */
static int end_all(void)
{
	int status;
	struct err e;

	if (tree_end(SHIM_GRACE_MS, 0, &status, &e) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", SHIM_NAME, e.text);
	return 1;
}

/* Was SIGTERM received? All other signals only wake us. */
static bool end_requested(int signals)
{
	struct signalfd_siginfo s;
	bool terminated = false;

	while (read(signals, &s, sizeof s) == (ssize_t)sizeof s)
		terminated = terminated || s.ssi_signo == SIGTERM;
	return terminated;
}

/* skepd sends nothing: if the socket is readable, it was closed. */
static bool skepd_has_exited(void)
{
	struct pollfd events = {.fd = EVENTS, .events = POLLIN};

	return poll(&events, 1, 0) > 0;
}

static int wait_ms(int64_t until_ns)
{
	int64_t ms = (until_ns - clock_mono_ns()) / NS_PER_MS + 1;

	return until_ns == 0 ? -1 : ms > 0 ? (int)ms : 0;
}

static int watch(pid_t plugin, int signals)
{
	struct pollfd fds[2] = {{.fd = signals, .events = POLLIN},
				{.fd = EVENTS, .events = POLLIN}};
	int status = NO_STATUS;
	int64_t end_ns = 0; /* 0: no end was requested */

	while (!all_exited(plugin, &status)) {
		(void)poll(fds, 2, wait_ms(end_ns));
		if (end_requested(signals) ||
		    (end_ns && clock_mono_ns() >= end_ns))
			return end_all();
		if (end_ns == 0 && skepd_has_exited()) {
			fds[1].fd = -1;
			end_ns = clock_mono_ns() +
				 (int64_t)SHIM_STOP_MS * NS_PER_MS;
		}
	}
	return 0;
}

/* --- the start -------------------------------------------------------- */

static void place_fds(const int fds[SHIM_FDS])
{
	dup2(fds[SHIM_FD_STDIN], 0);
	dup2(fds[SHIM_FD_STDOUT], 1);
	dup2(fds[SHIM_FD_STDERR], 2);
	dup2(fds[SHIM_FD_EVENTS], EVENTS);
	fcntl(EVENTS, F_SETFD, FD_CLOEXEC);
	syscall(SYS_close_range, EVENTS + 1U, ~0U, 0U);
}

/* Only the plugin may have its ends of the pipes, since their end is detected.
 * Its log stays open for messages of end_all. */
static void close_pipes(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, 0);
	dup2(null, 1);
	close(null);
}

/* The plugin is in its sandbox, and so is the shim from now on. */
static pid_t start_confined(struct plugin_start *s, struct err *e)
{
	set_environment(s);
	proc_oom_score(PROC_OOM_WORKER);
	return tree_own(e) || plugin_start_confine(s, e) ? -1
							 : start_plugin(s, e);
}

int plugin_shim_main(const int fds[SHIM_FDS])
{
	struct plugin_start start;
	pid_t plugin = -1;
	sigset_t all;
	struct err e;
	int signals, rc;

	rc = plugin_start_read(&start, fds[SHIM_FD_START], &e);
	place_fds(fds);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (skepd_has_exited())
		return 0;
	if (rc == 0 && signals < 0)
		rc = err_errno_set(&e, "cannot create a signalfd");
	if (rc == 0)
		plugin = start_confined(&start, &e);
	if (plugin < 0) {
		send_refusal(&e);
		plugin_start_end(&start);
		return 0;
	}
	close_pipes();
	send_event(&(struct shim_event){.kind = SHIM_STARTED, .value = plugin});
	rc = watch(plugin, signals);
	plugin_start_end(&start);
	return rc;
}
