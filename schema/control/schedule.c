#include "schema/control/schedule.h"

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "schema/vocab.h"

#include <stdio.h>
#include <string.h>

#define PROMPT_MAX (1u << 20)

/* --- slots ------------------------------------------------------------ */

static int64_t floor_seconds(int64_t ms)
{
	return ms / 1000 - (ms % 1000 < 0);
}

static int64_t every_next(const struct schedule_row *row, int64_t after)
{
	int64_t n = after - row->anchor_at;

	if (n < 0)
		return row->anchor_at;
	return row->anchor_at + (n / row->every_ms + 1) * row->every_ms;
}

static int64_t cron_next_ms(const struct schedule_rule *r, int64_t after)
{
	int64_t at = cron_next(&r->cron, r->zone, floor_seconds(after));

	return at == INT64_MAX ? OPT_NONE : at * 1000;
}

int64_t schedule_rule_next(const struct schedule_rule *r, int64_t after)
{
	const struct schedule_row *row = r->row;
	int64_t slot;

	if (row->starts_at != OPT_NONE && after < row->starts_at)
		after = row->starts_at - 1;
	if (row->at != OPT_NONE)
		slot = row->at > after ? row->at : OPT_NONE;
	else if (row->every_ms != OPT_NONE)
		slot = every_next(row, after);
	else
		slot = cron_next_ms(r, after);
	return row->ends_at != OPT_NONE && slot > row->ends_at ? OPT_NONE
							       : slot;
}

int64_t schedule_rule_last(const struct schedule_rule *r, int64_t until)
{
	const struct schedule_row *row = r->row;
	int64_t slot;

	if (row->ends_at != OPT_NONE && until > row->ends_at)
		until = row->ends_at;
	if (row->at != OPT_NONE) {
		slot = row->at <= until ? row->at : OPT_NONE;
	} else if (row->every_ms != OPT_NONE) {
		slot = until < row->anchor_at
			       ? OPT_NONE
			       : row->anchor_at + (until - row->anchor_at) /
							  row->every_ms *
							  row->every_ms;
	} else {
		slot = cron_last(&r->cron, r->zone, floor_seconds(until));
		slot = slot == INT64_MIN ? OPT_NONE : slot * 1000;
	}
	return slot == OPT_NONE || (row->starts_at != OPT_NONE &&
				    slot < row->starts_at)
		       ? OPT_NONE
		       : slot;
}

int64_t schedule_due(const struct schedule_row *row, int64_t slot)
{
	char text[128], hash[HASH_HEX];
	unsigned long long n;

	if (slot == OPT_NONE || row->jitter_ms <= 0)
		return slot;
	text_printf(text, sizeof text, "%s %lld", row->name, (long long)slot);
	hash_of(text, strlen(text), hash);
	hash[15] = '\0';
	if (sscanf(hash, "%llx", &n) != 1)
		return slot;
	return slot + (int64_t)(n % (unsigned long long)(row->jitter_ms + 1));
}

/* --- the rule ----------------------------------------------------------- */

static int check_times(const struct schedule_row *row, struct err *e)
{
	int kinds = (row->cron != NULL) + (row->every_ms != OPT_NONE) +
		    (row->at != OPT_NONE);

	if (kinds != 1)
		return err_set(e, ERR_INVALID,
			       "give one of cron, every and at; %d are "
			       "given",
			       kinds);
	if (row->every_ms != OPT_NONE && row->every_ms < 1000)
		return err_set(e, ERR_INVALID,
			       "every: the shortest interval is one second");
	if (row->jitter_ms < 0 || row->jitter_ms > SCHEDULE_JITTER_MAX)
		return err_set(e, ERR_INVALID, "jitter: at most one day");
	if (row->starts_at != OPT_NONE && row->ends_at != OPT_NONE &&
	    row->ends_at < row->starts_at)
		return err_set(e, ERR_INVALID, "the end is before the start");
	return 0;
}

int schedule_rule_open(struct schedule_rule *r, const struct schedule_row *row,
		       struct err *e)
{
	*r = (struct schedule_rule){.row = row};
	if (check_times(row, e) ||
	    (row->cron && cron_parse(&r->cron, row->cron, e)))
		return -1;
	return zone_open(&r->zone, row->zone, e);
}

void schedule_rule_close(struct schedule_rule *r)
{
	zone_close(r->zone);
	r->zone = NULL;
}

/* --- rows --------------------------------------------------------------- */

int schedule_get(struct sql *db, const char *name, struct schedule_row *out,
		 struct arena *a, struct err *e)
{
	struct schedule_get_in key = {name};
	int found = sql_get(db, Q_SCHEDULE_GET, &key, out, a, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there is no schedule %s; 'skep schedule ls' "
			       "lists them",
			       quoted(name).text);
	return found < 0 ? -1 : 0;
}

static int check_policies(const struct schedule_row *row, struct err *e)
{
	struct err why;

	if (text_check_word("missed", vocab_control_schedule_missed,
			    row->missed, &why) ||
	    text_check_word("overlap", vocab_control_schedule_overlap,
			    row->overlap, &why) ||
	    text_check_word("action", vocab_control_schedule_action,
			    row->action, &why))
		return err_set(e, ERR_INVALID, "%s", why.text);
	if (!strcmp(row->missed, "window") != (row->window_ms != OPT_NONE))
		return err_set(e, ERR_INVALID,
			       "a window belongs to missed = window, and only "
			       "to it");
	if (row->window_ms != OPT_NONE && row->window_ms < 1)
		return err_set(e, ERR_INVALID, "window: a time above 0");
	return 0;
}

static int check_action(const struct schedule_row *row, struct err *e)
{
	if (!row->agent || !row->prompt)
		return err_set(e, ERR_INVALID, "%s is missing",
			       row->agent ? "prompt" : "agent");
	if (row->prompt && strlen(row->prompt) > PROMPT_MAX)
		return err_set(e, ERR_INVALID, "prompt: at most %u bytes",
			       PROMPT_MAX);
	return 0;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Whether both would fire at the same slots. */
static bool same_times(const struct schedule_row *a,
		       const struct schedule_row *b)
{
	return same_text(a->cron, b->cron) && a->every_ms == b->every_ms &&
	       a->at == b->at && same_text(a->zone, b->zone) &&
	       a->jitter_ms == b->jitter_ms && a->starts_at == b->starts_at &&
	       a->ends_at == b->ends_at;
}

static bool same_work(const struct schedule_row *a,
		      const struct schedule_row *b)
{
	return same_text(a->missed, b->missed) &&
	       a->window_ms == b->window_ms &&
	       same_text(a->overlap, b->overlap) &&
	       same_text(a->action, b->action) &&
	       same_text(a->agent, b->agent) &&
	       same_text(a->prompt, b->prompt) &&
	       same_text(a->session, b->session) &&
	       same_text(a->workspace, b->workspace) &&
	       a->timeout_ms == b->timeout_ms && same_text(a->flow, b->flow) &&
	       same_text(a->input, b->input) &&
	       same_text(a->deliver_to, b->deliver_to) &&
	       a->is_paused == b->is_paused && same_text(a->held, b->held);
}

/* The first slot after `after` that is not in the log. */
static int find_slot(struct sql *db, const struct schedule_rule *r,
		     int64_t after, int64_t *out, struct err *e)
{
	struct firing_exists_in key = {r->row->name, after};
	struct firing_exists_row known;
	int found = 1;

	while (found == 1) {
		key.slot = schedule_rule_next(r, key.slot);
		if (key.slot == OPT_NONE)
			break;
		found = sql_get(db, Q_FIRING_EXISTS, &key, &known, NULL, e);
	}
	*out = key.slot;
	return found < 0 ? -1 : 0;
}

static bool is_active(const struct schedule_row *row)
{
	return !row->is_paused && !row->held;
}

/* Sets the next slot of a new or changed rule. */
static int compute_slot(struct sql *db, struct schedule_row *row, int64_t now,
			struct err *e)
{
	struct schedule_rule r;
	int rc;

	row->anchor_at = row->starts_at != OPT_NONE ? row->starts_at : now;
	rc = schedule_rule_open(&r, row, e);
	if (rc == 0)
		rc = find_slot(db, &r, now, &row->slot, e);
	schedule_rule_close(&r);
	if (rc == 0 && row->slot == OPT_NONE)
		rc = err_set(e, ERR_INVALID,
			     "the schedule would never fire: %s",
			     row->at != OPT_NONE ? "its time has passed"
			     : row->ends_at != OPT_NONE
				     ? "it has no time before its end"
				     : "no such time exists in ten years");
	return rc;
}

static int store_schedule(struct sql *db, const struct schedule_row *row,
			  int64_t now, struct err *e)
{
	struct schedule_put_in in = {
		.name = row->name,
		.cron = row->cron,
		.every_ms = row->every_ms,
		.at = row->at,
		.zone = row->zone,
		.jitter_ms = row->jitter_ms,
		.starts_at = row->starts_at,
		.ends_at = row->ends_at,
		.missed = row->missed,
		.window_ms = row->window_ms,
		.overlap = row->overlap,
		.action = row->action,
		.agent = row->agent,
		.prompt = row->prompt,
		.session = row->session,
		.workspace = row->workspace,
		.timeout_ms = row->timeout_ms,
		.flow = row->flow,
		.input = row->input,
		.deliver_to = row->deliver_to,
		.is_paused = row->is_paused,
		.held = row->held,
		.anchor_at = row->anchor_at,
		.slot = row->slot,
		.due_at = is_active(row) ? schedule_due(row, row->slot)
					 : OPT_NONE,
		.submitted_by = row->submitted_by,
		.now = now,
	};

	return sql_exec(db, Q_SCHEDULE_PUT, &in, e) < 0 ? -1 : 1;
}

int schedule_put(struct sql *db, struct schedule_row *row, int64_t now,
		 struct err *e)
{
	struct schedule_get_in key = {row->name};
	struct schedule_row old;
	struct arena a = {0};
	int found, rc;

	if (text_check_name("schedule", row->name, e) ||
	    check_policies(row, e) || check_action(row, e))
		return -1;
	found = sql_get(db, Q_SCHEDULE_GET, &key, &old, &a, e);
	if (found < 0)
		rc = -1;
	else if (found && same_times(row, &old) && same_work(row, &old))
		rc = 0;
	else {
		if (found && same_times(row, &old)) {
			row->anchor_at = old.anchor_at;
			row->slot = old.slot;
			rc = 0;
		} else {
			rc = compute_slot(db, row, now, e);
		}
		rc = rc ? -1 : store_schedule(db, row, now, e);
	}
	arena_fini(&a);
	return rc;
}

int schedule_recompute(struct sql *db, const struct schedule_row *row,
		       int64_t after, int64_t now, struct err *e)
{
	struct schedule_advance_in in = {
		.name = row->name, .last_slot = OPT_NONE, .now = now};
	struct schedule_rule r;
	int rc = schedule_rule_open(&r, row, e);

	if (rc == 0)
		rc = find_slot(db, &r, after, &in.slot, e);
	in.due_at = is_active(row) ? schedule_due(row, in.slot) : OPT_NONE;
	schedule_rule_close(&r);
	return rc || sql_exec(db, Q_SCHEDULE_ADVANCE, &in, e) < 0 ? -1 : 0;
}

int schedule_switch(struct sql *db, const char *name, bool pause, int64_t now,
		    struct err *e)
{
	struct schedule_switch_in in = {.name = name,
					.is_paused = pause,
					.slot = OPT_NONE,
					.due_at = OPT_NONE,
					.now = now};
	struct schedule_row row;
	struct schedule_rule r = {0};
	struct arena a = {0};
	int rc = schedule_get(db, name, &row, &a, e);

	if (rc == 0 && row.is_paused == pause && (pause || !row.held)) {
		arena_fini(&a);
		return 0;
	}
	if (rc == 0)
		rc = schedule_rule_open(&r, &row, e);
	if (rc == 0)
		rc = find_slot(db, &r, now, &in.slot, e);
	if (rc == 0) {
		in.held = pause ? row.held : NULL;
		if (!pause)
			in.due_at = schedule_due(&row, in.slot);
		rc = sql_exec(db, Q_SCHEDULE_SWITCH, &in, e) < 0 ? -1 : 1;
	}
	schedule_rule_close(&r);
	arena_fini(&a);
	return rc;
}
