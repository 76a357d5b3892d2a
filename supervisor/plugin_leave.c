/* Plugins of channels that were closed, on their way out. */
#include "supervisor/plugin.h"

#include "base/proc.h"
#include "spawner/warden.h"
#include "spawner/wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_SIZE  72
#define LOOK_MS    50
#define GOODBYE    30    /* looks of 10 ms, before SIGTERM and after it, … */
#define GOODBYE_US 10000 /* … when skepd goes */

struct leaving {
	struct leaving *next;
	struct sup *sup;
	uv_timer_t timer;
	char name[NAME_SIZE]; /* of the channel; "": nobody waits for its end */
	char id[ID_SIZE];
	struct plugin_tree tree;
	uint64_t term_at, kill_at; /* uv_now */
	bool asked;                /* by SIGTERM */
};

static void forget(uv_handle_t *h)
{
	free(h->data);
}

static void drop(struct leaving *l)
{
	struct leaving **at = &l->sup->channels->leaving;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	uv_close((uv_handle_t *)&l->timer, forget);
}

static void on_look(uv_timer_t *t)
{
	struct leaving *l = t->data;
	uint64_t now = uv_now(&l->sup->loop);

	if (plugin_tree_is_gone(&l->tree)) {
		drop(l);
	} else if (now >= l->kill_at) {
		plugin_tree_signal(&l->tree, SIGKILL);
	} else if (now >= l->term_at && !l->asked) {
		plugin_tree_signal(&l->tree, SIGTERM);
		l->asked = true;
	}
}

void plugin_leave(struct sup *s, const char *name, const struct plugin_tree *t)
{
	struct leaving *l = calloc(1, sizeof *l);

	if (!l)
		abort();
	l->sup = s;
	l->tree = *t;
	snprintf(l->name, sizeof l->name, "%s", name);
	snprintf(l->id, sizeof l->id, "%s", t->id);
	l->tree.id = l->id;
	l->term_at = uv_now(&s->loop);
	if (!t->loose) /* those have had their time */
		l->term_at += WARDEN_STOP_S * 1000;
	l->kill_at = l->term_at + WARDEN_GRACE_MS;
	l->next = s->channels->leaving;
	s->channels->leaving = l;
	uv_timer_init(&s->loop, &l->timer);
	l->timer.data = l;
	uv_timer_start(&l->timer, on_look, LOOK_MS, LOOK_MS);
}

bool plugin_is_leaving(const struct channel *c)
{
	const struct leaving *l = c->sup->channels->leaving;

	while (l && strcmp(l->name, c->name) != 0 && strcmp(l->id, c->id) != 0)
		l = l->next;
	return l != NULL;
}

/* --- those of a former skepd ------------------------------------------ */

struct search {
	struct sup *sup;
	const struct channel_row *rows;
	int n;
};

static bool is_known(const struct sup *s, const char *id)
{
	const struct leaving *l = s->channels->leaving;

	while (l && strcmp(l->id, id) != 0)
		l = l->next;
	return l != NULL;
}

/* By the mark that it bears, if it is of this home (as few are). */
static bool find_mark(const struct search *f, pid_t pid, char id[ID_SIZE])
{
	char home[sizeof f->sup->home.root];

	return proc_env(pid, "SKEP_HOME", home, sizeof home) &&
	       !strcmp(home, f->sup->home.root) &&
	       (proc_env(pid, WARDEN_MARKER, id, ID_SIZE) ||
		proc_env(pid, SPAWN_MARKER, id, ID_SIZE)) &&
	       id_is(ID_CHANNEL, id);
}

/* By its brand, if that is of one of our channels. */
static bool find_brand(const struct search *f, pid_t pid, char id[ID_SIZE])
{
	uint64_t brand = f->n > 0 ? proc_brand(pid) : 0;

	for (int i = 0; brand && i < f->n; i++) {
		if (plugin_tree_brand(f->rows[i].id) != brand)
			continue;
		snprintf(id, ID_SIZE, "%s", f->rows[i].id);
		return true;
	}
	return false;
}

static bool visit(void *arg, pid_t pid)
{
	const struct search *f = arg;
	char id[ID_SIZE];

	if ((find_mark(f, pid, id) || find_brand(f, pid, id)) &&
	    !is_known(f->sup, id))
		plugin_leave(f->sup, "",
			     &(struct plugin_tree){.id = id, .loose = true});
	return true;
}

void plugin_leave_strays(struct sup *s, const struct channel_row *rows, int n)
{
	while (n > 0 && strcmp(rows[n - 1].kind, channel_plugin.kind) != 0)
		n--;
	proc_each(visit, &(struct search){s, rows, n});
}

/* --- with skepd itself ------------------------------------------------ */

/* True: nobody is left. */
static bool wait_a_moment(struct sup *s)
{
	for (int i = 0; i < GOODBYE && s->channels->leaving; i++) {
		struct leaving *l, *next = s->channels->leaving;

		while ((l = next)) {
			next = l->next;
			if (plugin_tree_is_gone(&l->tree))
				drop(l);
		}
		if (s->channels->leaving)
			usleep(GOODBYE_US);
	}
	return !s->channels->leaving;
}

static void signal_them(struct sup *s, int sig)
{
	for (struct leaving *l = s->channels->leaving; l; l = l->next)
		plugin_tree_signal(&l->tree, sig);
}

/* So that they can say goodbye; then by force. Whoever the kernel holds is left
 * to his warden. */
void plugin_leave_all(struct sup *s)
{
	static const int words[] = {SIGTERM, SIGKILL, SIGKILL, SIGKILL};

	for (size_t i = 0; !wait_a_moment(s); i++) {
		if (i == sizeof words / sizeof words[0])
			break;
		signal_them(s, words[i]);
	}
	while (s->channels->leaving)
		drop(s->channels->leaving);
}
