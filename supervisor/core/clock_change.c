#include "supervisor/core/clock_change.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "schema/control/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEP_MS 1000 /* smaller differences are drift */
#define SCOPE   "skepd"
#define KEY     "clock"

static bool is_step(int64_t by)
{
	return by >= STEP_MS || by <= -STEP_MS;
}

static int move_rows(struct sql *db, int64_t by, struct err *e)
{
	static const unsigned queries[] = {
		Q_CLOCK_MOVE_RUNS,       Q_CLOCK_MOVE_APPROVALS,
		Q_CLOCK_MOVE_DELIVERIES, Q_CLOCK_MOVE_CHANNELS,
		Q_CLOCK_MOVE_LEASES,     Q_CLOCK_MOVE_IDLE,
		Q_CLOCK_MOVE_KV,         Q_CLOCK_MOVE_BUDGETS,
	};
	struct clock_move_runs_in in = {by};

	for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
		if (sql_exec(db, queries[i], &in, e) < 0)
			return -1;
	return 0;
}

static int save_offset(struct supervisor *s, int64_t offset, struct err *e)
{
	char value[96];

	snprintf(value, sizeof value, "%s %" PRId64, s->boot_id, offset);
	return control_kv_put(s->db, SCOPE, KEY, value, OPT_NONE, e);
}

/* The offset that a former supervisor stored during this boot, or `other`. */
static int64_t former_offset(struct supervisor *s, int64_t other)
{
	char boot[64];
	const char *value;
	struct arena a = {0};
	int64_t offset;
	struct err ignored;

	if (control_kv_get(s->db, SCOPE, KEY, &a, &value, &ignored) != 1 ||
	    sscanf(value, "%63s %" SCNd64, boot, &offset) != 2 ||
	    strcmp(boot, s->boot_id) != 0)
		offset = other;
	arena_fini(&a);
	return offset;
}

static int adjust_times(struct supervisor *s, int64_t offset, struct err *e)
{
	int64_t by = offset - former_offset(s, offset);

	if (is_step(by)) {
		log_warn(LT("msg", "the system clock was set"),
			 LI("by_ms", by));
		if (move_rows(s->db, by, e))
			return -1;
	}
	return save_offset(s, offset, e);
}

int clock_change_open(struct supervisor *s, struct err *e)
{
	int64_t offset = clock_offset();

	clock_fix_offset(offset);
	if (sql_enter(s->db, e))
		return -1;
	return sql_leave(s->db, adjust_times(s, offset, e), e);
}

/* Moves deadlines in memory. */
static void move_memory(struct supervisor *s, int64_t by)
{
	for (int i = 0; i < JOB_KINDS; i++)
		if (s->jobs.next[i])
			s->jobs.next[i] += by;
	send_hint(s, &(struct hint){.kind = HINT_CLOCK_SET, .by_ms = by});
}

struct undo {
	struct supervisor *sup;
	int64_t offset, by;
};

static void move_back(void *arg)
{
	struct undo *u = arg;

	clock_fix_offset(u->offset);
	move_memory(u->sup, -u->by);
}

void clock_change_check(struct supervisor *s)
{
	int64_t before = clock_fixed_offset(), offset = clock_offset();
	int64_t by = offset - before;
	struct undo *u;
	struct err e;

	if (!is_step(by))
		return;
	log_warn(LT("msg", "the system clock was set"), LI("by_ms", by));
	if (txn_begin(&s->txn, &e) || move_rows(s->db, by, &e)) {
		log_error(
			LT("msg",
			   "cannot move deadlines after a change of the clock"),
			LT("error", e.text));
		return;
	}
	clock_fix_offset(offset);
	move_memory(s, by);
	if (save_offset(s, offset, &e))
		log_error(LT("msg", "cannot record the offset of the clock"),
			  LT("error", e.text));
	u = txn_alloc(&s->txn, sizeof *u);
	*u = (struct undo){s, before, by};
	txn_on_rollback(&s->txn, move_back, u);
}
