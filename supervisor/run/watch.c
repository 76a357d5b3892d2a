#include "supervisor/run/internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * Watchers of changes. A watch is in the list of its active run, or in that of
 * the host. When the run ends, its watchers are called once more and move to
 * the host. Changes of one turn result in one call after the commit.
 */
struct run_watch {
	struct run_watch *next;
	struct run_watch **at; /* link to this watch; NULL: not in a list */
	struct supervisor *sup;
	void (*fn)(void *arg);
	void *arg;
	bool pending; /* a call is scheduled */
	bool removed;
};

struct supervisor_watch {
	struct run_watch w;
};

static void unlink_watch(struct run_watch *w)
{
	if (!w->at)
		return;
	*w->at = w->next;
	if (w->next)
		w->next->at = w->at;
	w->at = NULL;
}

static void link_watch(struct run_watch *w, struct run_watch **list)
{
	w->next = *list;
	w->at = list;
	if (w->next)
		w->next->at = &w->next;
	*list = w;
}

struct supervisor_watch *supervisor_watch(struct supervisor *s, const char *run,
					  void (*fn)(void *arg), void *arg)
{
	struct supervisor_watch *w = calloc(1, sizeof *w);
	struct active_run *l = run ? active_run_find(&s->runs->active, run)
				   : NULL;

	if (!w)
		abort();
	w->w.sup = s;
	w->w.fn = fn;
	w->w.arg = arg;
	link_watch(&w->w, l ? &l->watches : &s->runs->host_watches);
	return w;
}

void supervisor_unwatch(struct supervisor_watch *w)
{
	if (!w)
		return;
	unlink_watch(&w->w);
	w->w.removed = true;
	if (!w->w.pending)
		free(w);
}

static void call_watcher(void *arg, const struct err *failed)
{
	struct run_watch *w = arg;

	(void)failed; /* it is only a hint to read the rows */
	w->pending = false;
	if (w->removed)
		free(w);
	else
		w->fn(w->arg);
}

static void schedule_calls(struct run_watch *w)
{
	for (; w; w = w->next) {
		if (w->pending)
			continue;
		w->pending = true;
		txn_on_commit(&w->sup->txn, call_watcher, w);
	}
}

void notify_run_watchers(struct active_run *l)
{
	schedule_calls(l->watches);
}

void notify_host_watchers(struct supervisor *s)
{
	if (!s->host_changed)
		return;
	s->host_changed = false;
	schedule_calls(s->runs->host_watches);
}

/* A retry of the run is a change of the host. */
void watches_move_to_host(struct active_run *l)
{
	schedule_calls(l->watches);
	while (l->watches) {
		struct run_watch *w = l->watches;

		unlink_watch(w);
		link_watch(w, &l->sup->runs->host_watches);
	}
}
