/* Ends plugins: of closed channels, failed ones, and processes that a former
 * skepd left. */
#include "supervisor/channel/internal.h"
#include "supervisor/channel/plugin/plugin.h"

#include "ipc/plugin_shim.h"
#include "lib/base/log.h"
#include "lib/os/proc.h"
#include "supervisor/channel/plugin/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_SIZE 72
#define CHECK_MS  50
#define MARGIN_MS 500   /* for the shim to end them first */
#define STUCK_MS  1000  /* after SIGKILL: a process that is left is reported */
#define LAST_MS   1000  /* likewise: skepd ends without waiting for it */
#define POLL_US   10000 /* between two checks while skepd ends */

struct plugin_exit {
	struct plugin_exit *next;
	struct supervisor *sup;
	char name
		/* of the channel; "": a process of a former skepd */
		[NAME_SIZE];
	struct plugin_processes processes;
	int64_t term_ms, kill_ms, check_ms; /* uv_now */
	unsigned checks;
	bool terminated; /* SIGTERM was sent */
	bool removed;    /* the channel was deleted; its log is deleted too */
	pid_t reported;  /* process that was reported as stuck */
};

static int64_t now_ms(const struct supervisor *s)
{
	return (int64_t)uv_now(&s->loop);
}

/* Deletes the files of the plugin: no sandbox shows the directory now, and the
 * next start creates it again. */
static void remove_media_dir(const struct plugin_exit *l)
{
	struct home_path dir = home_join(&l->sup->home, HOME_MEDIA,
					 l->processes.cgroup);

	(void)rmdir(dir.text); /* it stays if it still contains files */
}

static void free_exit(struct plugin_exit *l)
{
	struct plugin_exit **at = &l->sup->channels->plugin_exits;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	plugin_processes_fini(&l->processes);
	remove_media_dir(l);
	if (l->removed)
		plugin_log_delete(l->sup, l->name);
	free(l);
}

static void terminate(struct plugin_exit *l)
{
	l->terminated = true;
	plugin_processes_terminate(&l->processes, &l->sup->roots);
}

static void plugin_on_timer(uv_timer_t *t);

static struct plugin_exit *find_exit(const struct supervisor *s,
				     const char *tag)
{
	struct plugin_exit *l = s->channels->plugin_exits;

	while (l && strcmp(l->processes.tag, tag) != 0)
		l = l->next;
	return l;
}

static void add_exit(struct supervisor *s, const char *name,
		     const struct plugin_processes *p, int64_t stop_ms)
{
	struct plugin_exit *l = calloc(1, sizeof *l);

	if (!l)
		abort();
	l->sup = s;
	l->processes = *p;
	snprintf(l->name, sizeof l->name, "%s", name);
	l->term_ms = now_ms(s) + stop_ms;
	l->kill_ms = l->term_ms + SHIM_GRACE_MS + MARGIN_MS;
	l->next = s->channels->plugin_exits;
	s->channels->plugin_exits = l;
	if (stop_ms == 0 && p->spawn == PLUGIN_SPAWNED)
		terminate(l);
	uv_timer_start(&s->channels->plugin_timer, plugin_on_timer, CHECK_MS,
		       CHECK_MS);
}

/* --- exit verification
 * ------------------------------------------------------- */

static struct plugin *plugin_of_tag(const struct supervisor *s, const char *tag)
{
	for (struct channel *c = s->channels->first; c; c = c->next) {
		struct plugin *p = c->own;

		if (c->ops == &channel_plugin && !strcmp(p->processes.tag, tag))
			return p;
	}
	return NULL;
}

/* Reports each process once. */
static void report_stuck(struct plugin_exit *l, const struct processes *t)
{
	struct plugin *p = plugin_of_tag(l->sup, l->processes.tag);
	char why[160];
	bool denied;
	pid_t pid;

	if (now_ms(l->sup) < l->kill_ms + STUCK_MS)
		return;
	pid = processes_find_one(&l->sup->roots, t, &denied);
	if (pid == 0 || pid == l->reported)
		return;
	l->reported = pid;
	snprintf(why, sizeof why,
		 "process %d of the plugin does not end after SIGKILL%s; the "
		 "next start waits for its end",
		 (int)pid,
		 denied ? ", which is another user's: end it as that user or "
			  "as root"
			: "");
	if (p)
		plugin_is_stuck(p, pid, why);
	else
		log_warn(LT("msg", "process of a plugin does not end"),
			 LT("channel", l->name), LT("error", why));
	if (l->name[0])
		plugin_log_note(l->sup, l->name, "%s", why);
}

/* The shim ends the processes and exits; then skepd verifies that none is left.
 * If the shim does not, or has died, skepd kills them. */
static void check_one(struct plugin_exit *l)
{
	struct processes t = plugin_processes_view(&l->processes);
	int64_t now = now_ms(l->sup);

	if (l->processes.spawn == PLUGIN_REQUESTED) {
		/* a new spawner has no pending request */
		if (now >= l->kill_ms)
			spawn_restart(&l->sup->spawn);
		return;
	}
	if (now >= l->term_ms && !l->terminated)
		terminate(l);
	if (now < l->check_ms ||
	    (now < l->kill_ms && plugin_shim_is_alive(&l->processes)))
		return;
	if (processes_count(&l->sup->roots, &t, NULL) == 0) {
		processes_remove_cgroup(&l->sup->roots, l->processes.cgroup);
		free_exit(l);
		return;
	}
	if (now >= l->kill_ms) {
		processes_signal(&l->sup->roots, &t, SIGKILL);
		report_stuck(l, &t);
	}
	l->check_ms = now + processes_recheck_ms(l->checks++);
}

static void check_exits(struct supervisor *s)
{
	struct plugin_exit *l, *next = s->channels->plugin_exits;

	while ((l = next)) {
		next = l->next;
		check_one(l);
	}
	if (!s->channels->plugin_exits)
		uv_timer_stop(&s->channels->plugin_timer);
}

static void plugin_on_timer(uv_timer_t *t)
{
	check_exits(t->data);
}

void plugin_shut_down(struct supervisor *s, const char *name,
		      struct plugin_processes *p, int64_t stop_ms)
{
	if (p->spawn != PLUGIN_NOT_SPAWNED)
		add_exit(s, name, p, stop_ms);
	p->pidfd = -1;
	plugin_processes_fini(p);
}

void plugin_delete_log_when_ended(struct supervisor *s, const char *name)
{
	bool later = false;

	for (struct plugin_exit *l = s->channels->plugin_exits; l;
	     l = l->next) {
		if (strcmp(l->name, name) != 0)
			continue;
		l->removed = later = true;
	}
	if (!later)
		plugin_log_delete(s, name);
}

bool plugin_is_shutting_down(const struct channel *c)
{
	const struct plugin_exit *l = c->sup->channels->plugin_exits;
	const struct plugin *p = c->own;

	while (l && strcmp(l->name, c->name) != 0 &&
	       strcmp(l->processes.tag, p->processes.tag) != 0)
		l = l->next;
	return l != NULL;
}

/* --- reports of the spawner
 * ---------------------------------------------------- */

static void kill_unwanted(int pidfd)
{
	if (pidfd < 0)
		return;
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	close(pidfd);
}

bool plugin_on_spawn_event(struct supervisor *s, const struct spawn_event *t,
			   int pidfd)
{
	struct plugin_exit *l;
	struct plugin *p;

	if (!strchr(t->run, '@'))
		return false;
	l = find_exit(s, t->run);
	p = plugin_of_tag(s, t->run);
	if (l && l->processes.spawn == PLUGIN_REQUESTED) {
		plugin_processes_spawned(&l->processes, t, pidfd);
	} else if (p && p->processes.spawn == PLUGIN_REQUESTED) {
		plugin_processes_spawned(&p->processes, t, pidfd);
		plugin_events_listen(p);
		if (t->kind == SPAWN_FAILED)
			plugin_fail(p, "cannot start its shim: %s",
				    strerror(t->status));
	} else {
		kill_unwanted(pidfd);
	}
	return true;
}

void plugin_on_spawner_lost(struct supervisor *s)
{
	if (!s->channels)
		return;
	for (struct plugin_exit *l = s->channels->plugin_exits; l; l = l->next)
		if (l->processes.spawn == PLUGIN_REQUESTED)
			plugin_processes_assume(&l->processes, &s->roots);
	for (struct channel *c = s->channels->first; c; c = c->next) {
		struct plugin *p = c->own;

		if (c->ops != &channel_plugin ||
		    p->processes.spawn != PLUGIN_REQUESTED)
			continue;
		plugin_processes_assume(&p->processes, &s->roots);
		plugin_fail(p, "the spawner ended before it was started");
	}
}

/* --- processes of a former skepd
 * ----------------------------------------------- */

/* They get SIGTERM at once; their stdin was closed before. */
static void end_leftover(struct supervisor *s, struct plugin_processes *p)
{
	p->spawn = PLUGIN_SPAWNED;
	if (!find_exit(s, p->tag))
		add_exit(s, "", p, 0);
}

static void visit_cgroup(void *arg, const char *name)
{
	struct supervisor *s = arg;
	struct plugin_processes p;
	struct processes t;

	if (!id_is(ID_CHANNEL, name))
		return;
	plugin_processes_init(&p, s->home.root, name);
	p.in_cgroup = true;
	t = plugin_processes_view(&p);
	if (processes_count(&s->roots, &t, NULL) > 0)
		end_leftover(s, &p);
	else
		processes_remove_cgroup(&s->roots, name);
}

static bool visit_process(void *arg, pid_t pid)
{
	struct supervisor *s = arg;
	struct plugin_processes p;
	char tag[SPAWN_RUN];

	if (proc_env(pid, SPAWN_MARKER, tag, sizeof tag) &&
	    plugin_processes_of_tag(&p, s->home.root, tag))
		end_leftover(s, &p);
	return true;
}

void plugin_end_leftovers(struct supervisor *s)
{
	processes_each_cgroup(&s->roots, visit_cgroup, s);
	proc_each(visit_process, s);
}

/* --- end of skepd
 * ---------------------------------------------------------------- */

static bool any_requested(const struct supervisor *s)
{
	const struct plugin_exit *l = s->channels->plugin_exits;

	while (l && l->processes.spawn != PLUGIN_REQUESTED)
		l = l->next;
	return l != NULL;
}

/* The processes get the usual time. A process that cannot be killed is left to
 * its shim. */
void plugin_wait_all(struct supervisor *s)
{
	int64_t until = 0;

	/* the loop that receives the answer has ended */
	if (any_requested(s)) {
		spawn_close(&s->spawn);
		plugin_on_spawner_lost(s);
	}
	uv_update_time(&s->loop);
	for (struct plugin_exit *l = s->channels->plugin_exits; l; l = l->next)
		if (l->kill_ms + LAST_MS > until)
			until = l->kill_ms + LAST_MS;
	while (s->channels->plugin_exits && now_ms(s) < until) {
		check_exits(s);
		plugin_logs_read(s);
		if (s->channels->plugin_exits)
			usleep(POLL_US);
		uv_update_time(&s->loop);
	}
	while (s->channels->plugin_exits)
		free_exit(s->channels->plugin_exits);
}
