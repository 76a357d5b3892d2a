/* Plugins of channels that were closed, on their way out. */
#include "supervisor/plugin.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS    50
#define GOODBYE    30 /* looks of 10 ms that a plugin has when skepd goes */
#define GOODBYE_US 10000

static const struct tree_place nowhere;

struct leaving {
	struct leaving *next;
	struct sup *sup;
	uv_timer_t timer;
	char id[ID_SIZE];
	struct tree tree;
	uint64_t until; /* uv_now; then it is killed */
};

static bool is_gone(struct leaving *l)
{
	if (l->tree.worker && waitpid(l->tree.worker, NULL, WNOHANG) != 0)
		l->tree.worker = 0;
	return !l->tree.worker && tree_count(&nowhere, &l->tree, NULL) == 0;
}

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

	if (is_gone(l))
		drop(l);
	else if (uv_now(&l->sup->loop) >= l->until)
		tree_signal_all(&nowhere, &l->tree, SIGKILL);
}

void plugin_leave(struct sup *s, const struct tree *t)
{
	struct leaving *l = calloc(1, sizeof *l);

	if (!l)
		abort();
	l->sup = s;
	l->tree = *t;
	snprintf(l->id, sizeof l->id, "%s", t->run);
	l->tree.run = l->id;
	l->until = uv_now(&s->loop) + PLUGIN_GRACE_MS;
	l->next = s->channels->leaving;
	s->channels->leaving = l;
	uv_timer_init(&s->loop, &l->timer);
	l->timer.data = l;
	uv_timer_start(&l->timer, on_look, LOOK_MS, LOOK_MS);
}

/* For a moment, so that they can say goodbye; then by force. */
void plugin_leave_all(struct sup *s)
{
	struct leaving *l;

	for (int i = 0; i < GOODBYE && s->channels->leaving; i++) {
		for (struct leaving *next = s->channels->leaving; (l = next);) {
			next = l->next;
			if (is_gone(l))
				drop(l);
		}
		if (s->channels->leaving)
			usleep(GOODBYE_US);
	}
	while ((l = s->channels->leaving)) {
		tree_signal_all(&nowhere, &l->tree, SIGKILL);
		if (l->tree.worker)
			waitpid(l->tree.worker, NULL, 0);
		drop(l);
	}
}
