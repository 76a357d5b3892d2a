#include "lib/os/process_tree.h"

#include "lib/base/clock.h"
#include "lib/os/proc.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TREE_MAX      65536 /* processes that one scan can hold */
#define KILL_LIMIT_MS 10000
#define NS_PER_MS     1000000

struct pids {
	pid_t *pid;
	int n;
	int cap;
};

static pid_t spared[TREE_EXEMPT_MAX]; /* 0: free */
static struct tree_watch *watches;
static pid_t init_pid; /* 0: none */

void tree_has_init(pid_t pid)
{
	init_pid = pid;
}

/* Replaces `old` by `pid`; does nothing if `old` is not there. */
static void replace_spared(pid_t old, pid_t pid)
{
	for (int i = 0; i < TREE_EXEMPT_MAX; i++) {
		if (spared[i] != old)
			continue;
		spared[i] = pid;
		return;
	}
}

static bool is_spared(pid_t pid)
{
	bool is = false;

	for (int i = 0; i < TREE_EXEMPT_MAX; i++)
		is = is || (spared[i] && spared[i] == pid);
	return is;
}

static bool any_spared(void)
{
	bool any = false;

	for (int i = 0; i < TREE_EXEMPT_MAX; i++)
		any = any || spared[i];
	return any;
}

void tree_exempt(pid_t pid)
{
	if (!is_spared(pid))
		replace_spared(0, pid);
}

void tree_unexempt(pid_t pid)
{
	replace_spared(pid, 0);
}

void tree_watch(struct tree_watch *w, pid_t pid)
{
	*w = (struct tree_watch){.next = watches, .pid = pid};
	watches = w;
}

void tree_unwatch(struct tree_watch *w)
{
	struct tree_watch **at = &watches;

	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
}

static void note_end(pid_t pid, int status)
{
	for (struct tree_watch *w = watches; w; w = w->next) {
		if (w->pid != pid || w->ended)
			continue;
		w->status = status;
		w->ended = true;
	}
}

int tree_own(struct err *e)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return err_errno_set(e, "become a child subreaper");
	return 0;
}

static void add_pid(struct pids *p, pid_t pid)
{
	if (p->n == TREE_MAX || is_spared(pid) || pid == init_pid)
		return; /* it is full: the next scan finds the rest */
	if (p->n == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 64;
		p->pid = realloc(p->pid, (size_t)p->cap * sizeof *p->pid);
		if (!p->pid)
			abort();
	}
	p->pid[p->n++] = pid;
}

/* Adds the pids of one children file: numbers, each followed by a space. */
static void add_listed(struct pids *p, const char *path)
{
	FILE *f = fopen(path, "re");
	long pid;

	if (!f)
		return;                     /* it has ended */
	while (fscanf(f, "%ld", &pid) == 1) // NOLINT(cert-err34-c)
		add_pid(p, (pid_t)pid);
	(void)fclose(f);
}

/* Any thread of a process may have children. */
static void add_children(struct pids *p, pid_t of)
{
	char path[96];
	struct dirent *d;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", (int)of);
	tasks = opendir(path);
	if (!tasks)
		return;
	while ((d = readdir(tasks))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%.20s/children",
			 (int)of, d->d_name);
		add_listed(p, path);
	}
	closedir(tasks);
}

static bool holds(const struct pids *p, pid_t pid)
{
	if (pid == getpid() || (init_pid && pid == init_pid))
		return true;
	for (int i = 0; i < p->n; i++)
		if (p->pid[i] == pid)
			return true;
	return false;
}

/* A process whose parent is one of ours is ours. A pid that is reused in the
 * meantime is not hit. */
static bool signal_one(const struct pids *ours, pid_t pid, int sig)
{
	struct proc_stat st;
	bool hit;
	int fd;

	if (proc_stat(pid, &st) || !holds(ours, st.parent))
		return false;
	fd = proc_hold(pid, &st);
	if (fd < 0)
		return false;
	hit = syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0;
	close(fd);
	return hit;
}

/* Starts with our children, then those that init has inherited. */
static void add_all(struct pids *p)
{
	add_children(p, getpid());
	if (init_pid)
		add_children(p, init_pid);
	for (int i = 0; i < p->n; i++)
		add_children(p, p->pid[i]);
}

void tree_each(void (*fn)(void *arg, pid_t pid), void *arg)
{
	struct pids p = {0};

	add_all(&p);
	for (int i = 0; i < p.n; i++)
		fn(arg, p.pid[i]);
	free(p.pid);
}

int tree_signal(int sig)
{
	struct pids p = {0};
	int hit = 0;

	add_all(&p);
	for (int i = 0; i < p.n; i++)
		hit += signal_one(&p, p.pid[i], sig);
	free(p.pid);
	return hit;
}

/* Children that are not exempt; zombies count until they are reaped. */
static bool has_others(void)
{
	struct pids p = {0};
	bool others;

	add_children(&p, getpid());
	if (init_pid)
		add_children(&p, init_pid);
	others = p.n > 0;
	free(p.pid);
	return others;
}

bool tree_reap(pid_t watched, int *status)
{
	int st;
	pid_t pid;

	while ((pid = waitpid(-1, &st, WNOHANG)) > 0) {
		if (pid == watched)
			*status = st;
		note_end(pid, st);
		if (is_spared(pid))
			tree_unexempt(pid);
	}
	if (pid < 0)
		return errno == ECHILD;
	return (any_spared() || init_pid) && !has_others();
}

static void wait_for_child(int ms)
{
	struct timespec t = {.tv_nsec = (long)ms * NS_PER_MS};
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigtimedwait(&child, NULL, &t);
}

static bool wait_all(int64_t ms, pid_t watched, int *status)
{
	int64_t until = clock_mono_ns() + ms * NS_PER_MS;

	while (!tree_reap(watched, status)) {
		if (clock_mono_ns() >= until)
			return false;
		wait_for_child(20);
	}
	return true;
}

/* Also counts processes that we may not signal. */
static int count_all(void)
{
	struct pids p = {0};
	int n;

	add_all(&p);
	n = p.n;
	free(p.pid);
	return n;
}

int tree_end(int64_t grace_ms, pid_t watched, int *status, struct err *e)
{
	int64_t until;
	int left;

	if (tree_reap(watched, status))
		return 0;
	if (grace_ms > 0) {
		tree_signal(SIGTERM);
		tree_signal(SIGCONT); /* a stopped process cannot even end */
		if (wait_all(grace_ms, watched, status))
			return 0;
	}
	until = clock_mono_ns() + (int64_t)KILL_LIMIT_MS * NS_PER_MS;
	do {
		tree_signal(SIGSTOP); /* so that no process forks meanwhile */
		tree_signal(SIGKILL);
		if (wait_all(5, watched, status))
			return 0;
	} while (clock_mono_ns() < until);
	left = count_all();
	return err_set(e, ERR_TIMEOUT, "%d process%s not end after SIGKILL",
		       left, left == 1 ? " does" : "es do");
}
