#include "supervisor/run/internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * Who wants to hear of news. A watch hangs at its live run, or at the host; when
 * the run is over it is told once more and hangs nowhere. News are gathered
 * into one call at the end of the turn.
 */
struct run_watch {
	struct run_watch *next;
	struct run_watch **at; /* what points to us; NULL: nothing does */
	struct supervisor *sup;
	void (*fn)(void *arg);
	void *arg;
	bool pending; /* a call is on its way */
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

	(void)failed; /* a hint: whoever looks finds what is there */
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

/* The watches move to the host: a run that is tried again is news there. */
void watches_move_to_host(struct active_run *l)
{
	schedule_calls(l->watches);
	while (l->watches) {
		struct run_watch *w = l->watches;

		unlink_watch(w);
		link_watch(w, &l->sup->runs->host_watches);
	}
}
