#include "supervisor/lock.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/proc.h"
#include "schema/control_queries.h"

#include <unistd.h>

static int take(struct sql *db, int64_t *epoch, struct err *e)
{
	struct supervisor_row owner, me = {
					     .pid = getpid(),
					     .boot_id = proc_boot_id(),
					     .program = SKEP_VERSION,
					     .since = clock_now(),
					     .epoch = 1,
				     };
	struct proc_stat st;
	struct arena a = {0};
	int found = sql_get(db, Q_SUPERVISOR_GET, NULL, &owner, &a, e);

	if (found == 1 && owner.pid != me.pid &&
	    proc_is_alive((pid_t)owner.pid, owner.start_ticks, owner.boot_id))
		found = err_set(e, ERR_CONFLICT,
				"%s: skepd runs already, as process %lld",
				sql_path(db), (long long)owner.pid);
	else if (found == 1)
		me.epoch = owner.epoch + 1;
	arena_fini(&a);
	if (found < 0 || fault_point(FAULT_lock_taken, e))
		return -1;
	if (proc_stat(getpid(), &st))
		return err_set(e, ERR_UNSUPPORTED,
			       "/proc does not show this process; it has to be "
			       "mounted");
	me.start_ticks = st.start_ticks;
	*epoch = me.epoch;
	return sql_exec(db, Q_SUPERVISOR_PUT, &me, e) < 0 ? -1 : 0;
}

int lock_take(struct sql *db, int64_t *epoch, struct err *e)
{
	if (sql_enter(db, e))
		return -1;
	return sql_leave(db, take(db, epoch, e), e);
}

void lock_release(struct sql *db)
{
	struct supervisor_clear_in me = {.pid = getpid()};
	struct proc_stat st;
	struct err e;

	if (proc_stat(getpid(), &st))
		return;
	me.start_ticks = st.start_ticks;
	if (sql_enter(db, &e) == 0)
		sql_leave(db,
			  sql_exec(db, Q_SUPERVISOR_CLEAR, &me, &e) < 0 ? -1
									: 0,
			  &e);
}
