#include "worker/spawner/plugin_shim.h"

#include "lib/base/clock.h"
#include "lib/os/proc.h"
#include "lib/os/process_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS    3 /* our end of the socket */
#define NO_STATUS (-1)
#define NS_PER_MS 1000000

/* After the end of skepd no process receives it. */
static void send_event(enum shim_event_kind kind, int value)
{
	struct shim_event event = {(int32_t)kind, value};

	(void)!send(EVENTS, &event, sizeof event, MSG_NOSIGNAL | MSG_DONTWAIT);
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

/* skepd ignores some signals, and its service manager expects words from it
 * alone. */
static void reset_inherited(const char *home, const char *channel)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	setenv("SKEP_HOME", home, 1);
	setenv("SKEP_CHANNEL", channel, 1);
}

/* Leads a session of its own, and is killed if the shim is. */
static void become_plugin(char **words, int failed, pid_t shim)
{
	int sys;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != shim)
		_exit(127);
	reset_inherited(words[0], words[1]);
	proc_oom_score(PROC_OOM_WORKER);
	if (chdir(words[0]) == 0)
		execute(words + 2);
	sys = errno;
	(void)!write(failed, &sys, sizeof sys);
	_exit(127);
}

/* Its pid; -1 with errno. */
static pid_t start_plugin(char **words)
{
	pid_t shim = getpid(), pid;
	int failed[2], sys = 0;
	ssize_t n = 0;

	if (pipe2(failed, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0)
		become_plugin(words, failed[1], shim);
	close(failed[1]);
	if (pid > 0) /* closed by exec, or with the reason of its failure */
		n = read(failed[0], &sys, sizeof sys);
	close(failed[0]);
	if (n <= 0)
		return pid;
	(void)waitpid(pid, NULL, 0);
	errno = sys;
	return -1;
}

/* --- the tree --------------------------------------------------------- */

/* Reports the end of the plugin once; true when no process is left. */
static bool all_gone(pid_t plugin, int *status)
{
	bool known = *status != NO_STATUS;
	bool empty = tree_reap(plugin, status);

	if (!known && *status != NO_STATUS)
		send_event(SHIM_ENDED, *status);
	return empty;
}

/* A process of another user, or one that the kernel holds, stays. */
static int end_all(void)
{
	int status;
	struct err e;

	if (tree_end(SHIM_GRACE_MS, 0, &status, &e) == 0)
		return 0;
	fprintf(stderr, "%s: %s\n", SHIM_NAME, e.text);
	return 1;
}

/* Has SIGTERM come? All other signals only wake us. */
static bool told_to_end(int signals)
{
	struct signalfd_siginfo s;
	bool told = false;

	while (read(signals, &s, sizeof s) == (ssize_t)sizeof s)
		told = told || s.ssi_signo == SIGTERM;
	return told;
}

/* skepd sends nothing: what can be read is the end. */
static bool skepd_is_gone(void)
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
	int64_t end_ns = 0; /* 0: no end is near */

	while (!all_gone(plugin, &status)) {
		(void)poll(fds, 2, wait_ms(end_ns));
		if (told_to_end(signals) ||
		    (end_ns && clock_mono_ns() >= end_ns))
			return end_all();
		if (end_ns == 0 && skepd_is_gone()) {
			fds[1].fd = -1;
			end_ns = clock_mono_ns() +
				 (int64_t)SHIM_STOP_MS * NS_PER_MS;
		}
	}
	return 0;
}

/* --- the start -------------------------------------------------------- */

/* HOME, CHANNEL, COMMAND …, NULL; NULL if there is no command. Mapped: a large
 * buffer of the heap would copy much of what is shared with the spawner. */
static char **read_words(int fd)
{
	char *text, **words;
	struct stat st;
	size_t n = 0;

	if (fstat(fd, &st) || st.st_size == 0)
		return NULL;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return NULL;
	for (off_t i = 0; i < st.st_size; i++)
		n += text[i] == '\0';
	words = n > 2 ? calloc(n + 1, sizeof *words) : NULL;
	for (size_t i = 0; words && i < n; i++, text += strlen(text) + 1)
		words[i] = text;
	return words;
}

static void place_fds(const int fds[SHIM_FDS])
{
	dup2(fds[SHIM_FD_STDIN], 0);
	dup2(fds[SHIM_FD_STDOUT], 1);
	dup2(fds[SHIM_FD_STDERR], 2);
	dup2(fds[SHIM_FD_EVENTS], EVENTS);
	fcntl(EVENTS, F_SETFD, FD_CLOEXEC);
	syscall(SYS_close_range, EVENTS + 1U, ~0U, 0U);
}

/* The plugin's ends of the pipes are its alone: their end is a sign. Its log
 * stays open for what end_all may have to say. */
static void close_pipes(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, 0);
	dup2(null, 1);
	close(null);
}

int plugin_shim_main(const int fds[SHIM_FDS])
{
	char **words = read_words(fds[SHIM_FD_START]);
	pid_t plugin = -1;
	sigset_t all;
	struct err e;
	int signals;

	place_fds(fds);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (skepd_is_gone())
		return 0;
	errno = ENOMEM; /* unless another reason is known */
	if (words && signals >= 0 && tree_own(&e) == 0)
		plugin = start_plugin(words);
	if (plugin < 0) {
		send_event(SHIM_REFUSED, errno);
		return 0;
	}
	close_pipes();
	send_event(SHIM_STARTED, plugin);
	return watch(plugin, signals);
}
