/*
 * skep-watchdog: starts skepd and restarts it when it dies or hangs. `skep up`
 * starts it; under systemd the service manager does the same job.
 *
 * It has one thread and uses no library except base. It exits when skepd exits
 * normally (status 0), was asked to stop, cannot start for a reason that a
 * restart does not change, or never became ready. Its exit status is that of
 * skepd. It forwards SIGTERM, SIGINT and SIGHUP. skepd reports its state with
 * the protocol of systemd (lib/os/sd_notify.h) on a socket of the watchdog.
 * While skepd is down, workers continue, and the next skepd adopts them.
 */
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "schema/config.h"
#include "schema/watchdog_record.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_MS   250
#define LONGEST_MS 60000
#define STABLE_MS \
	60000         /* after running this long, earlier failures are
			  * ignored */
#define EXIT_BUSY  75 /* another supervisor runs */
#define EXIT_SETUP 78 /* the configuration or a newer schema */

struct watchdog {
	struct home home;
	const char *program;
	int signals, reports;          /* signalfd; socket of skepd's reports */
	char address[32];              /* its name for NOTIFY_SOCKET */
	int64_t hang_ms;               /* 0: hangs are not detected */
	pid_t child;                   /* skepd, or 0 */
	bool ready, stopping, killed;  /* killed by the watchdog, because it
				        * hung */
	bool was_ready;                /* at least once */
	int64_t ready_at, last_report; /* monotonic ms */
	int failures;                  /* in a row */
	struct watchdog_record record;
};

static int64_t now_ms(void)
{
	return clock_mono_ns() / 1000000;
}

static void save_record(const struct watchdog *w)
{
	struct err e;

	if (watchdog_write(&w->home, &w->record, &e))
		log_warn(LT("msg", "cannot write the record of the watchdog"),
			 LT("error", e.text));
}

/* --- set-up ----------------------------------------------------------- */

static int open_signals(struct watchdog *w)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return w->signals < 0 ? -1 : 0;
}

/* An abstract name that the kernel chooses; the sender is checked. */
static int open_reports(struct watchdog *w)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t n = sizeof a;
	int on = 1;

	w->reports = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			    0);
	if (w->reports < 0 ||
	    bind(w->reports, (struct sockaddr *)&a, sizeof a.sun_family) ||
	    setsockopt(w->reports, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) ||
	    getsockname(w->reports, (struct sockaddr *)&a, &n))
		return -1;
	n -= (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1;
	snprintf(w->address, sizeof w->address, "@%.*s", (int)n,
		 a.sun_path + 1);
	return 0;
}

static void read_settings(struct watchdog *w)
{
	struct config c;
	struct err ignored; /* skepd reads the same file and reports it */

	if (config_load(&c, home_path(&w->home, HOME_CONFIG).text, &ignored))
		return;
	w->hang_ms = c.watchdog_timeout;
	config_fini(&c);
}

/* --- skepd ------------------------------------------------------------ */

static void become_skepd(const struct watchdog *w) __attribute__((noreturn));

static void become_skepd(const struct watchdog *w)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setenv("NOTIFY_SOCKET", w->address, 1);
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	execl(w->program, w->program, "--home", w->home.root, (char *)NULL);
	dprintf(2, "skepd: cannot start %s: %s\n", w->program, strerror(errno));
	_exit(69);
}

static int start_skepd(struct watchdog *w)
{
	w->ready = w->killed = false;
	w->child = fork();
	if (w->child == 0)
		become_skepd(w);
	return w->child < 0 ? -1 : 0;
}

static void handle_report(struct watchdog *w, const char *text)
{
	w->last_report = now_ms();
	if (strncmp(text, "READY=1", 7) == 0) {
		w->ready = w->was_ready = true;
		w->ready_at = w->last_report;
	} else if (strncmp(text, "STOPPING=1", 10) == 0) {
		w->ready = false; /* it may take long */
	}
}

static void read_reports(struct watchdog *w)
{
	char text[256], control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec part = {text, sizeof text - 1};
	struct msghdr m;
	ssize_t n;

	for (;;) {
		const struct cmsghdr *c;
		struct ucred who = {0};

		m = (struct msghdr){.msg_iov = &part,
				    .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof control};
		n = recvmsg(w->reports, &m, 0);
		if (n < 0)
			return;
		text[n] = '\0';
		c = CMSG_FIRSTHDR(&m);
		if (c && c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&who, CMSG_DATA(c), sizeof who);
		if (who.pid == w->child)
			handle_report(w, text);
	}
}

static void read_signals(struct watchdog *w)
{
	struct signalfd_siginfo s;

	while (read(w->signals, &s, sizeof s) == (ssize_t)sizeof s) {
		if (s.ssi_signo == SIGCHLD)
			continue; /* only a wake-up */
		w->stopping = true;
		if (w->child > 0)
			kill(w->child, (int)s.ssi_signo);
	}
}

static bool is_watched(const struct watchdog *w)
{
	return w->ready && w->hang_ms > 0 && !w->stopping && !w->killed;
}

static void end_if_hung(struct watchdog *w)
{
	if (!is_watched(w) || now_ms() - w->last_report <= w->hang_ms)
		return;
	log_error(LT("msg", "skepd does not respond and is killed"),
		  LI("pid", w->child),
		  LI("silent_ms", now_ms() - w->last_report));
	w->killed = true;
	kill(w->child, SIGKILL);
}

/* Reads the available reports; waits up to ms for the first. */
static void wait_events(struct watchdog *w, int64_t ms)
{
	struct pollfd p[2] = {{.fd = w->signals, .events = POLLIN},
			      {.fd = w->reports, .events = POLLIN}};

	(void)poll(p, 2, ms > LONGEST_MS ? LONGEST_MS : (int)ms);
	read_reports(w);
	read_signals(w);
}

/* Waits until skepd has exited; returns its wait status. */
static int watch_skepd(struct watchdog *w)
{
	int status;

	while (waitpid(w->child, &status, WNOHANG) != w->child) {
		int64_t left = LONGEST_MS;

		if (is_watched(w))
			left = w->last_report + w->hang_ms - now_ms() + 1;
		wait_events(w, left < 0 ? 0 : left);
		end_if_hung(w);
	}
	w->child = 0;
	return status;
}

/* --- after its end ---------------------------------------------------- */

static void describe_end(struct watchdog *w, int status)
{
	char *out = w->record.cause;
	size_t n = sizeof w->record.cause;

	if (w->killed)
		snprintf(out, n, "no response for %lld s",
			 (long long)(w->hang_ms / 1000));
	else if (WIFSIGNALED(status))
		snprintf(out, n, "signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(out, n, "exit status %d", WEXITSTATUS(status));
	w->record.ended_at = clock_now();
}

static bool is_final(const struct watchdog *w, int status)
{
	if (w->stopping || !w->was_ready)
		return true;
	return WIFEXITED(status) &&
	       (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_BUSY ||
		WEXITSTATUS(status) == EXIT_SETUP);
}

static int64_t next_wait(struct watchdog *w)
{
	if (w->ready_at && now_ms() - w->ready_at > STABLE_MS)
		w->failures = 0;
	w->ready_at = 0;
	return backoff_next(++w->failures, FIRST_MS, LONGEST_MS);
}

/* Waits before the next start; false if a stop was requested meanwhile. */
static bool back_off(struct watchdog *w)
{
	int64_t wait = next_wait(w), until = now_ms() + wait;

	log_error(LT("msg", "skepd ended and will be restarted"),
		  LT("cause", w->record.cause), LI("after_ms", wait),
		  LI("restarts", w->record.restarts + 1));
	w->record.next_at = clock_now() + wait;
	save_record(w);
	while (!w->stopping && now_ms() < until)
		wait_events(w, until - now_ms());
	w->record.next_at = 0;
	w->record.restarts++;
	return !w->stopping;
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int restart_until_stopped(struct watchdog *w)
{
	for (;;) {
		int status;

		save_record(w);
		if (start_skepd(w)) {
			fprintf(stderr, "skepd: fork: %s\n", strerror(errno));
			return 69;
		}
		status = watch_skepd(w);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			describe_end(w, status);
		if (is_final(w, status)) {
			/* The cause is stored for `skep status`. */
			if (w->stopping || exit_status(status) == 0)
				watchdog_remove(&w->home);
			else
				save_record(w);
			return exit_status(status);
		}
		if (!back_off(w)) {
			watchdog_remove(&w->home);
			return 0;
		}
	}
}

int main(int argc, char **argv)
{
	struct watchdog w = {.hang_ms = 60000};
	struct err e;

	log_setup("skep-watchdog", LOG_LEVEL_INFO, -1);
	if (argc != 3) {
		fputs("usage: skep-watchdog HOME SKEPD\n"
		      "Restarts skepd when it dies; `skep up` starts it.\n",
		      stderr);
		return 64;
	}
	w.program = argv[2];
	if (home_find(&w.home, argv[1], &e)) {
		fprintf(stderr, "skepd: %s\n", e.text);
		return err_exit_status(e.code);
	}
	w.record.watchdog = process_self();
	read_settings(&w);
	if (open_signals(&w) || open_reports(&w)) {
		fprintf(stderr, "skepd: %s\n", strerror(errno));
		return 69;
	}
	return restart_until_stopped(&w);
}
