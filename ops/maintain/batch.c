#include "ops/maintain/batch.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/db/checkpoint.h"
#include "lib/db/vacuum.h"

#include <time.h>

#define MS         INT64_C(1000000)
#define COUNT_MAX  64   /* the next rows may be much larger than these */
#define LOG_FRAMES 1000 /* a waiting writer waits for our checkpoints, too */

int64_t batch_clock(void)
{
	return clock_mono_ns();
}

static void learn(struct batch *s, int64_t ns)
{
	if (ns > BATCH_STEP_MS * MS && s->count > 1)
		s->count /= 2;
	else if (ns < BATCH_STEP_MS * MS / 4 && s->count < COUNT_MAX)
		s->count *= 2;
}

/* Sleeps as long as it worked, so that others wait for at most half of the
 * time. */
static void yield_to_writers(int64_t ns)
{
	struct timespec t = {0, ns < 20 * MS ? (long)ns : (long)(20 * MS)};

	nanosleep(&t, NULL);
}

static int steps(struct batch *s, struct sql *db, batch_step *step, void *arg,
		 struct err *e)
{
	int64_t began = s->clock(), now = began, last;
	int sum = 0, n;

	do {
		last = now;
		n = step(db, s->count, arg, e);
		now = s->clock();
		learn(s, now - last);
		sum += n;
	} while (n > 0 && now - began < BATCH_AIM_MS * MS);
	return n < 0 ? -1 : sum;
}

int batch_run(struct batch *s, struct sql *db, batch_step *step, void *arg,
	      struct err *e)
{
	bool inside = sql_in_transaction(db);
	int64_t began;
	int n;

	if (s->until && s->clock() > s->until)
		return err_set(e, ERR_TIMEOUT, "%s: time limit exceeded",
			       sql_path(db));
	if (inside)
		return steps(s, db, step, arg, e);
	if (s->done++ == 0)
		sql_checkpoint_at(db, LOG_FRAMES);
	if (sql_enter(db, e))
		return -1;
	began = s->clock();
	n = sql_leave(db, steps(s, db, step, arg, e), e);
	yield_to_writers(s->clock() - began);
	return n;
}

int64_t batch_all(struct batch *s, struct sql *db, batch_step *step, void *arg,
		  struct err *e)
{
	int64_t sum = 0;
	int n;

	while ((n = batch_run(s, db, step, arg, e)) > 0)
		sum += n;
	return n < 0 ? -1 : sum;
}

static int vacuum_some(struct sql *db, int64_t count, void *arg, struct err *e)
{
	int64_t *left = arg, n;

	if (fault_point(FAULT_vacuum_batch, e))
		return -1;
	n = sql_vacuum_some(db, count < *left ? count : *left, e);
	*left -= n;
	return (int)n;
}

int64_t batch_vacuum(struct batch *s, struct sql *db, int64_t pages,
		     struct err *e)
{
	int64_t left = pages;

	return batch_all(s, db, vacuum_some, &left, e);
}
