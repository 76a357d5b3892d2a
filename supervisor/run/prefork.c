#include "supervisor/run/prefork.h"

#include "lib/base/backoff.h"
#include "lib/base/id.h"
#include "lib/base/log.h"
#include "supervisor/run/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_MS     20  /* after the start of skepd */
#define QUIET_MS     4   /* no run started for so long: the first is forked */
#define CALM_MS      25  /* for the others, longer than a short run */
#define PAUSE_MS     100 /* after a failure; doubles */
#define PAUSE_MAX_MS 30000
#define EXIT_MS      2000  /* to wait for killed workers */
#define MESSAGE_MAX  60000 /* always fits into an empty pipe */

struct preforked {
	struct preforked *next;
	char id[ID_SIZE];
	int start, start_barrier; /* our ends of both pipes */
	pid_t pid;                /* 0: not reported yet */
	int64_t start_ticks;
	int pidfd;
	bool in_cgroup;
};

/* --- the list --------------------------------------------------------- */

static struct preforked **link_to(struct prefork_pool *all,
				  const struct preforked *one)
{
	struct preforked **at = &all->first;

	while (*at != one)
		at = &(*at)->next;
	return at;
}

/* Removes it from the list; its descriptors stay open. */
static void unlink_preforked(struct prefork_pool *all, struct preforked *one)
{
	*link_to(all, one) = one->next;
	all->count--;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The worker exits when its pipe closes. */
static void drop_preforked(struct supervisor *s, struct preforked *one)
{
	unlink_preforked(&s->runs->prefork, one);
	close_end(&one->start);
	close_end(&one->start_barrier);
	close_end(&one->pidfd);
	s->runs->prefork.cgroups_left = true;
	free(one);
}

static struct preforked *find_preforked(struct prefork_pool *all,
					const char *id)
{
	struct preforked *one = all->first;

	while (one && strcmp(one->id, id) != 0)
		one = one->next;
	return one;
}

/* --- forking ------------------------------------------------------------ */

/* Opens both pipes or none. */
static bool make_pipes(int start[2], int barrier[2])
{
	if (pipe2(start, O_CLOEXEC))
		return false;
	if (pipe2(barrier, O_CLOEXEC) == 0)
		return true;
	close(start[0]);
	close(start[1]);
	return false;
}

static void prefork_worker(struct supervisor *s)
{
	struct preforked **end = &s->runs->prefork.first;
	struct preforked *one = calloc(1, sizeof *one);
	struct spawn_request req = {0};
	int start[2], barrier[2];

	if (!one)
		abort();
	if (!make_pipes(start, barrier)) {
		free(one);
		return; /* leave descriptors to the runs */
	}
	(void)fcntl(start[1], F_SETFL, O_NONBLOCK);
	*one = (struct preforked){
		.start = start[1], .start_barrier = barrier[1], .pidfd = -1};
	snprintf(one->id, sizeof one->id, "%s", id_new(ID_PREFORK).text);
	while (*end)
		end = &(*end)->next;
	*end = one;
	s->runs->prefork.count++;
	snprintf(req.run, sizeof req.run, "%s", one->id);
	processes_cgroup(&s->roots, one->id, req.cgroup);
	(void)cgroup_plan(&s->roots.limits,
			  &(struct sandbox_limits){.pids = 1, .memory = 1},
			  one->id, req.limits);
	spawn_send(&s->spawn, &req, (int[]){start[0], barrier[0]}, 2);
}

static bool needs_refill(const struct supervisor *s)
{
	return !s->stopping && s->runs->prefork.count < s->config.run_prefork;
}

static void on_refill(uv_timer_t *h);

static void refill_after(struct supervisor *s, int64_t ms)
{
	if (ms < s->runs->prefork.pause_ms)
		ms = s->runs->prefork.pause_ms;
	uv_timer_start(&s->runs->prefork.refill, on_refill, (uint64_t)ms, 0);
}

/* Forking keeps a core busy for 2 ms, which a run that has just started needs
 * too. While another worker is ready, this one is not urgent. */
void prefork_postpone(struct supervisor *s)
{
	if (needs_refill(s))
		refill_after(s,
			     s->runs->prefork.count > 0 ? CALM_MS : QUIET_MS);
}

static void on_refill(uv_timer_t *h)
{
	struct supervisor *s = h->data;

	if (needs_refill(s))
		prefork_worker(s);
	prefork_postpone(s);
}

void prefork_open(struct supervisor *s)
{
	uv_timer_init(&s->loop, &s->runs->prefork.refill);
	s->runs->prefork.refill.data = s;
	if (s->read_only)
		return;
	s->runs->prefork.cgroups_left = true; /* left by a former supervisor */
	refill_after(s, FIRST_MS);
}

/* --- reports of the spawner ---------------------------------------------- */

/* Limits the rate of forks if workers die at once. */
static void back_off(struct prefork_pool *all)
{
	all->pause_ms = backoff_next(++all->failures, PAUSE_MS, PAUSE_MAX_MS);
}

static void on_prefork_failed(struct supervisor *s, struct preforked *one)
{
	drop_preforked(s, one);
	back_off(&s->runs->prefork);
	prefork_postpone(s);
}

/* A worker that was not reported yet may be the reason why the spawner died. */
void prefork_drop(struct supervisor *s)
{
	bool unreported = false;

	while (s->runs->prefork.first) {
		unreported = unreported || s->runs->prefork.first->pid == 0;
		drop_preforked(s, s->runs->prefork.first);
	}
	if (unreported)
		back_off(&s->runs->prefork);
	prefork_postpone(s);
}

void prefork_on_spawn_event(struct supervisor *s, const struct spawn_event *t,
			    int pidfd)
{
	struct preforked *one = find_preforked(&s->runs->prefork, t->run);

	if (!one) { /* dropped meanwhile; its pipe is closed */
		close_end(&pidfd);
	} else if (t->kind == SPAWN_FAILED) {
		log_warn(LT("msg", "cannot prefork a worker"),
			 LT("error", strerror(t->status)));
		on_prefork_failed(s, one);
	} else {
		one->pid = t->pid;
		one->start_ticks = t->start_ticks;
		one->pidfd = pidfd;
		one->in_cgroup = t->in_cgroup;
	}
}

int64_t prefork_ready(const struct supervisor *s)
{
	int64_t n = 0;

	for (const struct preforked *one = s->runs->prefork.first; one;
	     one = one->next)
		n += one->pidfd >= 0;
	return n;
}

bool prefork_on_exit(struct supervisor *s, pid_t pid)
{
	struct preforked *one = s->runs->prefork.first;

	while (one && one->pid != pid)
		one = one->next;
	if (one)
		on_prefork_failed(s, one);
	return one != NULL;
}

/* --- assigning a worker --------------------------------------------------- */

/* Writes the whole message, or the worker is useless. */
static bool write_start_message(struct preforked *one, const struct buf *start)
{
	ssize_t n;

	do
		n = write(one->start, start->p, start->n);
	while (n < 0 && errno == EINTR);
	close_end(&one->start);
	return n == (ssize_t)start->n;
}

static void become_worker(struct active_run *l, struct preforked *one)
{
	snprintf(l->cgroup, sizeof l->cgroup, "%s", one->id);
	l->in_cgroup = one->in_cgroup;
	l->start_barrier = one->start_barrier;
	active_run_watch_pid(l, one->pid, one->start_ticks, one->pidfd);
	free(one);
}

bool prefork_assign(struct active_run *l, const struct buf *start)
{
	struct prefork_pool *all = &l->sup->runs->prefork;
	struct preforked *one, *next;

	if (start->n > MESSAGE_MAX)
		return false;
	for (one = all->first; one; one = next) {
		next = one->next;
		if (one->pidfd < 0)
			continue;
		if (!write_start_message(one, start)) {
			on_prefork_failed(l->sup, one);
			continue;
		}
		unlink_preforked(all, one);
		all->pause_ms = all->failures = 0;
		become_worker(l, one);
		return true;
	}
	return false;
}

/* --- cgroups and shutdown
 * -------------------------------------------------- */

struct cgroup_scan {
	struct supervisor *sup;
	const char *name;
	bool in_use;
	bool left;
};

static void note_if_in_use(struct active_run *l, void *arg)
{
	struct cgroup_scan *t = arg;

	t->in_use = t->in_use || !strcmp(l->cgroup, t->name);
}

static void remove_unused(void *arg, const char *name)
{
	struct cgroup_scan *t = arg;

	if (!id_is(ID_PREFORK, name) ||
	    find_preforked(&t->sup->runs->prefork, name))
		return;
	t->name = name;
	t->in_use = false;
	active_run_each(&t->sup->runs->active, note_if_in_use, t);
	for (struct idle_worker *w = t->sup->runs->idle.first; w; w = w->next)
		t->in_use = t->in_use || !strcmp(w->cgroup, name);
	if (t->in_use)
		return;
	processes_remove_cgroup(&t->sup->roots, name);
	t->left = t->left || processes_have_cgroup(&t->sup->roots, name);
}

void prefork_remove_cgroups(struct supervisor *s)
{
	struct cgroup_scan t = {.sup = s};

	if (!s->runs->prefork.cgroups_left)
		return;
	processes_each_cgroup(&s->roots, remove_unused, &t);
	s->runs->prefork.cgroups_left = t.left;
}

/* They have done nothing, and must not outlive skepd. */
static void kill_preforked(const struct preforked *one)
{
	struct pollfd over = {.fd = one->pidfd, .events = POLLIN};

	if (one->pidfd < 0)
		return;
	syscall(SYS_pidfd_send_signal, one->pidfd, SIGKILL, NULL, 0);
	(void)poll(&over, 1, EXIT_MS);
}

void prefork_close(struct supervisor *s)
{
	uv_close((uv_handle_t *)&s->runs->prefork.refill, NULL);
	while (s->runs->prefork.first) {
		kill_preforked(s->runs->prefork.first);
		drop_preforked(s, s->runs->prefork.first);
	}
	for (int ms = 0; ms < EXIT_MS && s->runs->prefork.cgroups_left; ms++) {
		prefork_remove_cgroups(s);
		if (s->runs->prefork.cgroups_left)
			usleep(1000);
	}
}
