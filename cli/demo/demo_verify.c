/* Results from the files, and whether anything was lost. */
#include "cli/demo/demo.h"

#include "lib/base/clock.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/session.h"
#include "schema/control/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct verification {
	int64_t events;
	int64_t runs[4]; /* succeeded, failed, cancelled, timed_out */
	int problems;
};

static const char *const ends[4] = {"succeeded", "failed", "cancelled",
				    "timed_out"};

static void problem(struct demo *d, struct verification *b, const char *what,
		    const struct demo_run *r)
{
	b->problems++;
	if (r)
		demo_print(d, "PROBLEM: %s: %s is %s (%s%s%s)", what, r->id,
			   r->state, r->reason, r->detail[0] ? ": " : "",
			   r->detail);
	else
		demo_print(d, "PROBLEM: %s", what);
}

struct tally {
	int64_t events;
	int64_t notes;
	int64_t last_seq;
	bool gap;
};

static int tally_session(struct agent_file *f, const char *key, struct tally *t,
			 struct err *e)
{
	struct session_row s;
	struct history h;
	struct page p = {.more = true};
	struct arena a = {0};
	int rc = session_need(f, key, &s, &a, e);

	if (!rc)
		rc = history_load(f, s.id, HISTORY_LOG, &h, &a, e);
	while (!rc && p.more) {
		rc = history_forward(f, &h, t->last_seq, 1000, &p, &a, e);
		for (int i = 0; !rc && i < p.count; i++) {
			t->events++;
			t->notes += !strcmp(p.events[i].type, "note");
			t->gap = t->gap || p.events[i].seq != t->last_seq + 1;
			t->last_seq = p.events[i].seq;
		}
	}
	arena_fini(&a);
	return rc;
}

static void check_run(struct demo *d, struct verification *b,
		      struct agent_file *f, const struct demo_run *r)
{
	const struct demo_agent *a = &demo_agents[r->agent];
	struct tally t = {0};
	struct err e;

	if (tally_session(f, r->session, &t, &e)) {
		problem(d, b, e.text, r);
		return;
	}
	b->events += t.events;
	for (int i = 0; i < 4; i++)
		b->runs[i] += !strcmp(r->state, ends[i]);
	if (t.gap)
		problem(d, b, "its numbers have a gap", r);
	if (t.last_seq < r->last_seq)
		problem(d, b, "a reported event is missing", r);
	if (r->fate == FATE_CANCEL && strcmp(r->state, "cancelled") != 0 &&
	    strcmp(r->state, "succeeded") != 0)
		problem(d, b, "it was not cancelled", r);
	if (strcmp(r->state, "succeeded") == 0 && r->attempt == 1 &&
	    t.notes != a->notes)
		problem(d, b, "an event is missing or duplicated", r);
	if (r->fate == FATE_FINISH && strcmp(r->state, "succeeded") != 0)
		problem(d, b, "it did not succeed", r);
	/* a third one if the death of the supervisor hit the second at its
	 * start */
	if (r->fate == FATE_KILL && (strcmp(r->state, "succeeded") != 0 ||
				     r->attempt < 2 || t.notes < a->notes))
		problem(d, b, "it was not brought to its end", r);
	if (r->worker.pid > 0 && process_is_alive(&r->worker))
		problem(d, b, "its worker is still alive", r);
}

static void check_integrity(struct demo *d, struct verification *b,
			    struct sql *db)
{
	struct arena a = {0};
	const char *result = "";
	struct err e;

	if (sql_script_text(db, "PRAGMA integrity_check", &a, &result, &e))
		problem(d, b, e.text, NULL);
	else if (strcmp(result, "ok") != 0)
		problem(d, b, result, NULL);
	arena_fini(&a);
}

static int check_agent(struct demo *d, struct verification *b,
		       struct sql *control, int agent, struct err *e)
{
	struct agent_database_row row;
	struct agent_file f;
	struct arena a = {0};
	int found = registry_find(control, demo_agents[agent].name, &row, &a,
				  e);

	if (found > 0 && registry_open(&row, 0, &f, e) == 0) {
		check_integrity(d, b, f.db);
		for (int i = 0; i < d->nruns; i++)
			if (d->runs[i].agent == agent)
				check_run(d, b, &f, &d->runs[i]);
		agent_file_close(&f);
		found = 0;
	} else if (found == 0) {
		found = err_set(e, ERR_NOTFOUND, "agent %s has no file",
				demo_agents[agent].name);
	}
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

static void check_follower(struct demo *d, struct verification *b)
{
	const struct demo_follower *f = &d->follower;

	if (f->failed < 0)
		problem(d, b, f->err.text, NULL);
	if (f->doubles || f->gaps || f->events == 0)
		problem(d, b,
			"a follower of a stream missed or repeated events",
			NULL);
}

#define SUMMARY(F, S)                  \
	F(S, i64, runs)                \
	F(S, i64, succeeded)           \
	F(S, i64, cancelled)           \
	F(S, i64, failed)              \
	F(S, i64, events)              \
	F(S, i64, seconds)             \
	F(S, i64, supervisor_ready_ms) \
	F(S, i64, submit_us_per_run)   \
	F(S, i64, cancel_ms)           \
	F(S, i64, worker_retried_ms)   \
	F(S, i64, supervisor_back_ms)  \
	F(S, i64, workers_adopted)     \
	F(S, i64, supervisor_kb)       \
	F(S, i64, followed_events)     \
	F(S, i64, problems)
SHAPE_DECLARE(demo_summary, SUMMARY);
SHAPE_DEFINE(demo_summary, SUMMARY);

/* For users: each figure in words and with its unit. */
static void print_summary(struct demo *d, const struct demo_summary *s)
{
	const struct {
		const char *what;
		int64_t value;
		const char *unit;
	} lines[] = {
		{"runs", s->runs, ""},
		{"  that succeeded", s->succeeded, ""},
		{"  that the demo cancelled", s->cancelled, ""},
		{"  that failed", s->failed, ""},
		{"events stored by these runs", s->events, ""},
		{"duration of the demo", s->seconds, " s"},
		{"start of the supervisor", s->supervisor_ready_ms, " ms"},
		{"time to accept one run", s->submit_us_per_run, " µs"},
		{"time to cancel runs and end their processes", s->cancel_ms,
		 " ms"},
		{"second attempt after a worker was killed",
		 s->worker_retried_ms, " ms"},
		{"new supervisor after the old one was killed",
		 s->supervisor_back_ms, " ms"},
		{"active runs that the new supervisor adopted",
		 s->workers_adopted, ""},
		{"memory of the supervisor", s->supervisor_kb, " KiB"},
		{"events that a client followed, each once", s->followed_events,
		 ""},
		{"problems found by the verification", s->problems, ""},
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		output_note(&d->cli->out, "%-45s %8" PRId64 "%s", lines[i].what,
			    lines[i].value, lines[i].unit);
}

static void sum_up(struct demo *d, const struct verification *b)
{
	struct demo_summary s = {
		.runs = d->nruns,
		.succeeded = b->runs[0],
		.failed = b->runs[1] + b->runs[3],
		.cancelled = b->runs[2],
		.events = b->events,
		.seconds = (demo_ms(d) + 500) / 1000,
		.supervisor_ready_ms = d->ready_ms,
		.submit_us_per_run = d->accepted_ms * 1000 / d->nruns,
		.cancel_ms = d->cancel_ms,
		.worker_retried_ms = d->recover_ms,
		.supervisor_back_ms = d->back_ms,
		.workers_adopted = d->adopted,
		.supervisor_kb = d->supervisor_kb,
		.followed_events = d->follower.events,
		.problems = b->problems,
	};

	output_note(&d->cli->out, "%s", "");
	if (d->cli->out.json)
		output_object(&d->cli->out, &demo_summary_shape, &s);
	else
		print_summary(d, &s);
}

int demo_verify(struct demo *d, struct err *e)
{
	struct verification b = {0};
	struct sql *control = NULL;
	int rc = db_open(&control, home_path(&d->home, HOME_CONTROL_DB).text,
			 &control_schema, 0, e);

	for (int i = 0; i < DEMO_AGENTS && !rc; i++)
		rc = check_agent(d, &b, control, i, e);
	if (!rc) {
		check_integrity(d, &b, control);
		check_follower(d, &b);
		demo_print(d, b.problems ? "verification FAILED"
					 : "verified: no event lost or "
					   "duplicated, no process left");
		sum_up(d, &b);
	}
	sql_close(control);
	if (!rc && b.problems)
		rc = err_set(e, ERR_INTERNAL,
			     "%d checks failed; the home is kept", b.problems);
	return rc;
}
