#include "schema/control/budget.h"

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "schema/vocab.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

SHAPE_DEFINE(budget_item, BUDGET_ITEM);

#define BUDGETS_MAX 1000
#define MS_PER_S    1000
#define MICROS      1000000.0
#define KEY_DIGITS  16

/* --- periods and texts --------------------------------------------------- */

static int64_t local_ms(struct tm *t)
{
	t->tm_isdst = -1;
	return (int64_t)mktime(t) * MS_PER_S;
}

void budget_period(const char *period, int64_t now, int64_t *start,
		   int64_t *end)
{
	time_t seconds = (time_t)(now / MS_PER_S);
	struct tm from, to;

	*start = 0;
	*end = BUDGET_NEVER;
	if (strcmp(period, "total") == 0 || !localtime_r(&seconds, &from))
		return;
	from.tm_hour = from.tm_min = from.tm_sec = 0;
	if (strcmp(period, "month") == 0)
		from.tm_mday = 1;
	to = from;
	if (strcmp(period, "month") == 0)
		to.tm_mon++;
	else
		to.tm_mday++;
	*start = local_ms(&from);
	*end = local_ms(&to);
}

void budget_text(const char *unit, int64_t amount, char *out, size_t cap)
{
	if (strcmp(unit, "money") == 0)
		text_printf(out, cap, "$%.4f", (double)amount / MICROS);
	else if (strcmp(unit, "seconds") == 0)
		text_printf(out, cap, "%.1fs", (double)amount / MS_PER_S);
	else
		text_printf(out, cap, "%" PRId64 " %s", amount, unit);
}

/* --- the budgets of a run ------------------------------------------------ */

static int match_budgets(struct sql *db, const struct budget_run *run,
			 struct budget_row **rows, struct arena *a,
			 struct err *e)
{
	struct budget_match_in in = {run->agent, run->session, run->channel};

	return sql_collect(db, Q_BUDGET_MATCH, &in, BUDGETS_MAX, rows, a, e);
}

static const char *subject_of(const struct budget_row *b,
			      const struct budget_run *run, struct arena *a)
{
	if (strcmp(b->per, "agent") == 0)
		return run->agent;
	if (strcmp(b->per, "channel") == 0)
		return run->channel;
	if (strcmp(b->per, "session") == 0)
		return arena_printf(a, "%s/%s", run->agent, run->session);
	return strcmp(b->per, "run") == 0 ? run->id : "";
}

static int64_t amount_in(const struct budget_row *b,
			 const struct budget_amount *amount)
{
	if (strcmp(b->unit, "tokens") == 0)
		return amount->tokens;
	if (strcmp(b->unit, "money") == 0)
		return amount->micros;
	return strcmp(b->unit, "runs") == 0 ? amount->runs : amount->ms;
}

int budget_find_channel(struct sql *db, struct budget_run *run, struct arena *a,
			struct err *e)
{
	struct budget_channel_of_in in = {run->id};
	struct budget_channel_of_row row;
	int found = sql_get(db, Q_BUDGET_CHANNEL_OF, &in, &row, a, e);

	run->channel = found == 1 ? row.channel : NULL;
	return found < 0 ? -1 : 0;
}

/* --- the decision -------------------------------------------------------- */

/* One budget and its count for a run. */
struct budget_state {
	const struct budget_row *row;
	const char *subject;
	int64_t start, end, used, held;
	bool is_allowed;
};

static int read_state(struct sql *db, const struct budget_row *row,
		      const struct budget_run *run, int64_t now,
		      struct budget_state *out, struct arena *a, struct err *e)
{
	struct budget_used_in key = {.budget = row->name};
	struct budget_held_in others = {.budget = row->name, .run = run->id};
	struct budget_used_row used = {0};
	struct budget_held_row held = {0};

	*out = (struct budget_state){.row = row,
				     .subject = subject_of(row, run, a)};
	budget_period(row->period, now, &out->start, &out->end);
	key.subject = others.subject = out->subject;
	key.period_start = out->start;
	if (sql_get(db, Q_BUDGET_USED, &key, &used, NULL, e) < 0 ||
	    sql_get(db, Q_BUDGET_HELD, &others, &held, NULL, e) < 0)
		return -1;
	out->used = used.used;
	out->is_allowed = used.is_allowed;
	out->held = held.amount;
	return 0;
}

static enum budget_verdict judge(const struct budget_state *b, bool starting)
{
	int64_t soft = b->row->soft;
	bool runs = strcmp(b->row->unit, "runs") == 0;
	bool hard_reached = runs ? starting && b->used >= b->row->hard
				 : b->used + b->held >= b->row->hard;
	bool soft_reached = soft != OPT_NONE &&
			    (runs ? b->used > soft : b->used + b->held >= soft);

	if (hard_reached)
		return strcmp(b->row->at_hard, "end") == 0 ? BUDGET_END
							   : BUDGET_PAUSE;
	return soft_reached && !starting && !b->is_allowed ? BUDGET_ASK
							   : BUDGET_FREE;
}

/* The same for all runs that the answer concerns. */
static void make_key(const struct budget_state *b, char out[BUDGET_KEY])
{
	char hash[HASH_HEX], text[1024];

	text_printf(text, sizeof text, "%s %" PRId64, b->subject, b->start);
	hash_of(text, strlen(text), hash);
	text_printf(out, BUDGET_KEY, "budget:%s:%.*s", b->row->name, KEY_DIGITS,
		    hash);
}

static void explain(const struct budget_state *b, enum budget_verdict v,
		    struct budget_decision *out)
{
	bool soft = v == BUDGET_ASK;
	char used[64], limit[64], until[CLOCK_TEXT] = "";

	budget_text(b->row->unit, b->used + b->held, used, sizeof used);
	budget_text(b->row->unit, soft ? b->row->soft : b->row->hard, limit,
		    sizeof limit);
	if (b->end != BUDGET_NEVER)
		clock_text(b->end, until);
	text_printf(out->detail, sizeof out->detail,
		    "budget %s: %s used or reserved of %s%s%.19s", b->row->name,
		    used, limit, until[0] ? ", resets at " : "", until);
	text_printf(out->name, sizeof out->name, "%s", b->row->name);
	make_key(b, out->key);
	out->verdict = v;
	out->resets_at = b->end;
}

int budget_check(struct sql *db, const struct budget_run *run, bool starting,
		 int64_t now, struct budget_decision *out, struct err *e)
{
	struct budget_row *rows;
	struct arena a = {0};
	int n = match_budgets(db, run, &rows, &a, e), rc = n < 0 ? -1 : 0;

	*out = (struct budget_decision){.verdict = BUDGET_FREE};
	for (int i = 0; rc == 0 && i < n; i++) {
		struct budget_state b;
		enum budget_verdict v;

		rc = read_state(db, &rows[i], run, now, &b, &a, e);
		if (rc)
			break;
		v = judge(&b, starting);
		/* of several that pause, the one that resets last */
		if (v > out->verdict ||
		    (v == BUDGET_PAUSE && v == out->verdict &&
		     b.end > out->resets_at))
			explain(&b, v, out);
	}
	arena_fini(&a);
	return rc;
}

int budget_allow(struct sql *db, const struct budget_run *run, const char *key,
		 int64_t now, struct err *e)
{
	struct budget_row *rows;
	struct arena a = {0};
	int n = match_budgets(db, run, &rows, &a, e), rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		struct budget_allow_in in = {.budget = rows[i].name,
					     .now = now};
		char own[BUDGET_KEY];
		struct budget_state b;

		rc = read_state(db, &rows[i], run, now, &b, &a, e);
		if (rc)
			break;
		make_key(&b, own);
		in.subject = b.subject;
		in.period_start = b.start;
		if (strcmp(own, key) == 0)
			rc = sql_exec(db, Q_BUDGET_ALLOW, &in, e) < 0 ? -1 : 0;
	}
	arena_fini(&a);
	return rc;
}

/* --- reserving and charging ---------------------------------------------- */

int budget_reserve(struct sql *db, const struct budget_run *run,
		   const struct budget_amount *estimate, struct err *e)
{
	struct budget_hold_drop_in drop = {run->id};
	struct budget_row *rows;
	struct arena a = {0};
	int n = match_budgets(db, run, &rows, &a, e), rc = n < 0 ? -1 : 0;

	if (rc == 0 && sql_exec(db, Q_BUDGET_HOLD_DROP, &drop, e) < 0)
		rc = -1;
	for (int i = 0; rc == 0 && i < n; i++) {
		struct budget_hold_put_in in = {
			.run = run->id,
			.budget = rows[i].name,
			.subject = subject_of(&rows[i], run, &a),
			.amount = amount_in(&rows[i], estimate),
		};

		if (in.amount > 0)
			rc = sql_exec(db, Q_BUDGET_HOLD_PUT, &in, e) < 0 ? -1
									 : 0;
	}
	arena_fini(&a);
	return rc;
}

int budget_charge(struct sql *db, const struct budget_run *run,
		  const struct budget_amount *amount, int64_t now,
		  struct err *e)
{
	struct budget_row *rows;
	struct arena a = {0};
	int n = match_budgets(db, run, &rows, &a, e), rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++) {
		struct budget_charge_in in = {
			.budget = rows[i].name,
			.subject = subject_of(&rows[i], run, &a),
			.amount = amount_in(&rows[i], amount),
			.now = now,
		};
		int64_t end;

		budget_period(rows[i].period, now, &in.period_start, &end);
		if (in.amount > 0)
			rc = sql_exec(db, Q_BUDGET_CHARGE, &in, e) < 0 ? -1 : 0;
	}
	arena_fini(&a);
	return rc;
}

/* --- changes ------------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Whether the counts of one are those of the other. */
static bool counts_same(const struct budget_row *a, const struct budget_row *b)
{
	return is_same(a->per, b->per) && is_same(a->unit, b->unit) &&
	       is_same(a->period, b->period) && is_same(a->agent, b->agent) &&
	       is_same(a->session, b->session) &&
	       is_same(a->channel, b->channel);
}

static int check_budget(const struct budget_row *b, struct err *e)
{
	if (text_check_name("budget", b->name, e) ||
	    text_check_word("per", vocab_control_budget_per, b->per, e) ||
	    text_check_word("unit", vocab_control_budget_unit, b->unit, e) ||
	    text_check_word("period", vocab_control_budget_period, b->period,
			    e) ||
	    text_check_word("at_hard", vocab_control_budget_at_hard, b->at_hard,
			    e))
		return -1;
	if (b->hard < 0)
		return err_set(e, ERR_INVALID,
			       "the hard limit of a budget must not be "
			       "negative");
	if (b->soft != OPT_NONE && (b->soft < 0 || b->soft > b->hard))
		return err_set(e, ERR_INVALID,
			       "the soft limit must be from 0 to the hard "
			       "limit");
	if (b->session && !b->agent)
		return err_set(e, ERR_INVALID,
			       "a budget for a session must name its agent "
			       "too");
	if (strcmp(b->per, "run") == 0 && strcmp(b->unit, "runs") == 0)
		return err_set(e, ERR_INVALID,
			       "a budget per run cannot limit the number of "
			       "runs");
	return 0;
}

int budget_store(struct sql *db, struct budget_row *row, int64_t now,
		 struct err *e)
{
	struct budget_get_in key = {row->name};
	struct budget_forget_in forget = {row->name};
	struct budget_row old;
	struct arena a = {0};
	int found;

	if (check_budget(row, e))
		return -1;
	found = sql_get(db, Q_BUDGET_GET, &key, &old, &a, e);
	row->created_at = found == 1 ? old.created_at : now;
	row->updated_at = now;
	if (found >= 0 && sql_exec(db, Q_BUDGET_PUT, row, e) < 0)
		found = -1;
	if (found == 1 && !counts_same(row, &old) &&
	    sql_exec(db, Q_BUDGET_FORGET, &forget, e) < 0)
		found = -1;
	arena_fini(&a);
	return found < 0 ? -1 : found == 0;
}

/* --- the list ------------------------------------------------------------ */

static void list_item(const struct budget_row *b, const char *subject,
		      const struct budget_subjects_row *u, int64_t now,
		      budget_each *fn, void *arg)
{
	struct budget_item item = {
		.name = b->name,
		.subject = subject,
		.per = b->per,
		.unit = b->unit,
		.period = b->period,
		.soft = b->soft,
		.hard = b->hard,
		.used = u->used,
		.reserved = u->reserved,
		.is_allowed = u->is_allowed,
		.at_hard = b->at_hard,
		.agent = b->agent,
		.session = b->session,
		.channel = b->channel,
	};
	int64_t left = b->hard - u->used - u->reserved;

	budget_period(b->period, now, &item.period_start, &item.resets_at);
	item.remaining = left > 0 ? left : 0;
	if (item.resets_at == BUDGET_NEVER)
		item.period_start = item.resets_at = OPT_NONE;
	fn(arg, &item);
}

static int list_subjects(struct sql *db, const struct budget_row *b,
			 int64_t now, budget_each *fn, void *arg, struct err *e)
{
	struct budget_subjects_in in = {.budget = b->name,
					.count = BUDGETS_MAX};
	struct budget_subjects_row *rows, none = {.subject = ""};
	struct arena a = {0};
	int64_t end;
	int n;

	budget_period(b->period, now, &in.period_start, &end);
	n = sql_collect(db, Q_BUDGET_SUBJECTS, &in, BUDGETS_MAX, &rows, &a, e);
	for (int i = 0; i < n; i++)
		list_item(b, rows[i].subject, &rows[i], now, fn, arg);
	if (n == 0)
		list_item(b, "", &none, now, fn, arg);
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

int budget_items(struct sql *db, const char *name, int64_t now, budget_each *fn,
		 void *arg, struct err *e)
{
	struct budget_list_in in = {"", BUDGETS_MAX};
	struct budget_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_BUDGET_LIST, &in, BUDGETS_MAX, &rows, &a, e);
	int rc = n < 0 ? -1 : 0;

	for (int i = 0; rc == 0 && i < n; i++)
		if (!name || strcmp(name, rows[i].name) == 0)
			rc = list_subjects(db, &rows[i], now, fn, arg, e);
	arena_fini(&a);
	return rc;
}
