#include "supervisor/run/run.h"
#include "supervisor/run/budget.h"
#include "supervisor/run/internal.h"
#include "supervisor/run/run_message.h"
#include "supervisor/run/worker_request.h"

#include "lib/base/log.h"

#include <stdlib.h>

static void move_deadlines(struct supervisor *s, const struct hint *h)
{
	for (struct idle_worker *w = s->runs->idle.first; w; w = w->next) {
		w->since += h->by_ms;
		w->expires_at += h->by_ms;
	}
	s->runs->alarm_stale = s->runs->schedule = true;
}

/* a run may wait for the file */
static void file_is_ready(struct supervisor *s, const struct hint *h)
{
	(void)h;
	s->runs->schedule = true;
}

void runs_continue(struct supervisor *s)
{
	s->runs->alarm_stale = s->runs->schedule = true;
}

void runs_init(struct supervisor *s)
{
	struct runs *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	s->runs = r;
	uv_timer_init(&s->loop, &r->alarm);
	uv_timer_init(&s->loop, &r->retry);
	r->alarm.data = r->retry.data = s;
	on_hint(s, HINT_CLOCK_SET, move_deadlines);
	on_hint(s, HINT_AGENT_FILE, file_is_ready);
	run_message_open(s);
	budgets_open(s);
	prefork_open(s);
}

int runs_recover(struct supervisor *s, struct err *e)
{
	return recover_runs(s, e);
}

int runs_listen(struct supervisor *s, struct err *e)
{
	return messages_open(s, e);
}

void runs_tick(struct supervisor *s)
{
	struct err e;

	if (ipc_server_check(s->runs->ipc, &e) < 0)
		log_error(LT("msg", "workers cannot connect"),
			  LT("error", e.text));
	if (s->ticks == 0)
		run_sandbox_log_missing(s);
	prefork_remove_cgroups(s);
	waiting_check(s);
	budgets_tick(s);
}

void runs_before_commit(struct supervisor *s)
{
	schedule_runs(s);
	queue_set_alarm(s);
}

bool runs_are_over(const struct supervisor *s)
{
	return s->runs->active.count == 0 && s->runs->idle.count == 0;
}

int64_t runs_count(const struct supervisor *s)
{
	return s->runs->active.count;
}

static void stop_run(struct active_run *l, void *arg)
{
	active_run_stop(l, arg);
}

static void save_last_seq(struct active_run *l, void *arg)
{
	struct run_set_last_seq_in in = {l->id, l->last_seq};
	struct err e;

	(void)arg;
	if (sql_exec(l->sup->db, Q_RUN_SET_LAST_SEQ, &in, &e) < 0)
		log_error(LT("msg", "the last event cannot be recorded"),
			  LT("run", l->id), LT("error", e.text));
}

void runs_save_last_seq(struct supervisor *s)
{
	active_run_each(&s->runs->active, save_last_seq, NULL);
}

void runs_stop_all(struct supervisor *s, const char *by)
{
	active_run_each(&s->runs->active, stop_run, txn_text(&s->txn, by));
}

static void drop_run(struct active_run *l, void *arg)
{
	(void)arg;
	active_run_drop(l);
}

void runs_close(struct supervisor *s)
{
	spawn_close(&s->spawn);
	prefork_close(s);
	messages_close(s);
	waiting_free(s);
	budgets_free(s);
	active_run_each(&s->runs->active, drop_run, NULL);
	idle_clear(s);
}

void runs_close_timers(struct supervisor *s)
{
	uv_close((uv_handle_t *)&s->runs->alarm, NULL);
	uv_close((uv_handle_t *)&s->runs->retry, NULL);
}

void runs_free(struct supervisor *s)
{
	free(s->runs);
	s->runs = NULL;
}
