/* Plugins on their way out: of channels that were closed, of those that failed,
 * and what a former skepd left. */
#include "supervisor/channel/plugin/plugin.h"

#include "ipc/plugin_shim.h"
#include "ipc/spawn.h"
#include "lib/base/log.h"
#include "lib/os/proc.h"
#include "supervisor/channel/plugin/log.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_SIZE   72
#define LOOK_MS     50
#define WALK_MAX_MS 1000  /* longest wait between two looks through /proc */
#define STUCK_MS    1000  /* after SIGKILL: people are told who is left */
#define LAST_MS     1000  /* likewise: skepd goes without him */
#define GOODBYE_US  10000 /* between two looks when skepd goes */

struct leaving {
	struct leaving *next;
	struct supervisor *sup;
	char name[NAME_SIZE]; /* of the channel; "": nobody waits for its end */
	struct plugin_tree tree;
	int64_t term_ms, kill_ms; /* uv_now */
	bool asked;               /* by SIGTERM */
	bool removed;             /* the channel; its log goes with us */
	pid_t told;               /* this one does not end: people know */
};

static int64_t now_ms(const struct supervisor *s)
{
	return (int64_t)uv_now(&s->loop);
}

static void free_leaving(struct leaving *l)
{
	struct leaving **at = &l->sup->channels->leaving;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	plugin_tree_fini(&l->tree);
	if (l->removed)
		plugin_log_forget(l->sup, l->name);
	free(l);
}

/* Who has just come loose is looked for at once, and then less and less often:
 * each look costs time for every process of the machine. */
static void walk_soon(struct supervisor *s)
{
	s->channels->walk_ms = now_ms(s);
	s->channels->walk_wait_ms = LOOK_MS;
}

static struct leaving *add_leaving(struct supervisor *s, const char *name,
				   struct plugin_tree *t, int64_t stop_ms)
{
	struct leaving *l = calloc(1, sizeof *l);

	if (!l)
		abort();
	l->sup = s;
	l->tree = *t;
	snprintf(l->name, sizeof l->name, "%s", name);
	l->term_ms = now_ms(s) + stop_ms;
	l->kill_ms = l->term_ms + SHIM_GRACE_MS;
	l->next = s->channels->leaving;
	s->channels->leaving = l;
	walk_soon(s);
	uv_timer_start(&s->channels->look, plugin_on_look, LOOK_MS, LOOK_MS);
	return l;
}

/* --- their end -------------------------------------------------------- */

/* The word that is due; each look says SIGKILL again. */
static int word_for(struct leaving *l)
{
	int64_t now = now_ms(l->sup);

	if (now >= l->kill_ms)
		return SIGKILL;
	if (now < l->term_ms || l->asked)
		return 0;
	l->asked = true;
	return SIGTERM;
}

/* By way of the shims, which costs little. Returns those who need a look. */
static struct plugin_tree *look_at_shims(struct supervisor *s)
{
	struct leaving *l, *next = s->channels->leaving;
	struct plugin_tree *loose = NULL;

	while ((l = next)) {
		bool was_loose = l->tree.loose;

		next = l->next;
		if (plugin_tree_has_shim(&l->tree)) {
			int sig = word_for(l);

			if (sig)
				plugin_tree_signal(&l->tree, sig);
			continue;
		}
		if (!l->tree.loose) {
			free_leaving(l);
			continue;
		}
		if (!was_loose)
			walk_soon(s);
		l->tree.next = loose;
		loose = &l->tree;
	}
	return loose;
}

static struct plugin *who_waits(const struct leaving *l)
{
	struct channel *c = l->sup->channels->first;

	for (; c; c = c->next) {
		struct plugin *p = c->own;

		if (c->ops == &channel_plugin &&
		    (!strcmp(c->name, l->name) ||
		     !strcmp(p->tree.mark, l->tree.mark)))
			return p;
	}
	return NULL;
}

/* Once for each process. */
static void tell_of_stuck(struct leaving *l)
{
	struct plugin *p = who_waits(l);
	char why[160];

	if (now_ms(l->sup) < l->kill_ms + STUCK_MS || l->told == l->tree.one)
		return;
	l->told = l->tree.one;
	snprintf(why, sizeof why,
		 "process %d of the plugin does not end after SIGKILL%s; the "
		 "next start waits for its end",
		 (int)l->told,
		 l->tree.denied ? ", which is another user's: end it as that "
				  "user or as root"
				: "");
	if (p)
		plugin_is_stuck(p, l->told, why);
	else
		log_warn(LT("msg", "plugin"), LT("channel", l->name),
			 LT("trouble", why));
	if (l->name[0])
		plugin_log_note(l->sup, l->name, "%s", why);
}

static void signal_loose(struct supervisor *s, struct plugin_tree *loose)
{
	struct channels *k = s->channels;
	struct leaving *l, *next = k->leaving;

	for (l = k->leaving; l; l = l->next)
		if (l->tree.loose && !l->tree.shim)
			l->tree.sig = word_for(l);
	plugin_trees_look(loose);
	k->walk_ms = now_ms(s) + k->walk_wait_ms;
	k->walk_wait_ms *= 2;
	if (k->walk_wait_ms > WALK_MAX_MS)
		k->walk_wait_ms = WALK_MAX_MS;
	while ((l = next)) {
		next = l->next;
		if (!l->tree.loose || l->tree.shim)
			continue;
		if (!l->tree.one)
			free_leaving(l);
		else
			tell_of_stuck(l);
	}
}

static void check_leaving(struct supervisor *s)
{
	struct plugin_tree *loose = look_at_shims(s);

	if (loose && now_ms(s) >= s->channels->walk_ms)
		signal_loose(s, loose);
	if (!s->channels->leaving)
		uv_timer_stop(&s->channels->look);
}

void plugin_on_look(uv_timer_t *t)
{
	check_leaving(t->data);
}

void plugin_leave(struct supervisor *s, const char *name, struct plugin_tree *t,
		  int64_t stop_ms)
{
	if (t->shim || t->loose) {
		add_leaving(s, name, t, stop_ms);
		check_leaving(s); /* so that a word that is due is said now */
	}
	t->shim = 0;
	t->held = -1;
	t->loose = false;
}

void plugin_leave_log(struct supervisor *s, const char *name)
{
	bool later = false;

	for (struct leaving *l = s->channels->leaving; l; l = l->next) {
		if (strcmp(l->name, name) != 0)
			continue;
		l->removed = later = true;
	}
	if (!later)
		plugin_log_forget(s, name);
}

bool plugin_is_leaving(const struct channel *c)
{
	const struct leaving *l = c->sup->channels->leaving;
	const struct plugin *p = c->own;

	while (l && strcmp(l->name, c->name) != 0 &&
	       strcmp(l->tree.mark, p->tree.mark) != 0)
		l = l->next;
	return l != NULL;
}

/* --- those of a former skepd ------------------------------------------ */

struct search {
	struct supervisor *sup;
	const struct channel_row *rows;
	int n;
};

/* By the mark that it bears, if it is of this home (as few are). */
static bool find_mark(const struct search *f, pid_t pid, struct plugin_tree *t)
{
	char mark[PLUGIN_MARK];

	return (proc_env(pid, SHIM_MARKER, mark, sizeof mark) ||
		proc_env(pid, SPAWN_MARKER, mark, sizeof mark)) &&
	       plugin_tree_of_mark(t, f->sup->home.root, mark);
}

/* By its brand, if that is of one of our channels. */
static bool find_brand(const struct search *f, pid_t pid, struct plugin_tree *t)
{
	uint64_t brand = f->n > 0 ? proc_brand(pid) : 0;

	for (int i = 0; brand && i < f->n; i++) {
		plugin_tree_init(t, f->sup->home.root, f->rows[i].id);
		if (t->brand == brand)
			return true;
	}
	return false;
}

/* They have had their time: the end of stdin told them. */
static bool visit(void *arg, pid_t pid)
{
	const struct search *f = arg;
	struct leaving *l = f->sup->channels->leaving;
	struct plugin_tree t;

	if (!find_mark(f, pid, &t) && !find_brand(f, pid, &t))
		return true;
	while (l && strcmp(l->tree.mark, t.mark) != 0)
		l = l->next;
	if (!l) {
		t.loose = true;
		l = add_leaving(f->sup, "", &t, 0);
	}
	(void)plugin_tree_found(&l->tree, pid);
	return true;
}

void plugin_leave_strays(struct supervisor *s, const struct channel_row *rows,
			 int n)
{
	while (n > 0 && strcmp(rows[n - 1].kind, channel_plugin.kind) != 0)
		n--;
	proc_each(visit, &(struct search){s, rows, n});
}

/* --- with skepd itself ------------------------------------------------ */

/* They have the same time as with any other end. Whoever the kernel holds is
 * left to his shim. */
void plugin_leave_all(struct supervisor *s)
{
	int64_t until = 0;

	uv_update_time(&s->loop);
	for (struct leaving *l = s->channels->leaving; l; l = l->next)
		if (l->kill_ms + LAST_MS > until)
			until = l->kill_ms + LAST_MS;
	while (s->channels->leaving && now_ms(s) < until) {
		check_leaving(s);
		plugin_logs_take(s);
		if (s->channels->leaving)
			usleep(GOODBYE_US);
		uv_update_time(&s->loop);
	}
	while (s->channels->leaving)
		free_leaving(s->channels->leaving);
}
