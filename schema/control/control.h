#ifndef SCHEMA_CONTROL_CONTROL_H
#define SCHEMA_CONTROL_CONTROL_H

#include "lib/base/arena.h"
#include "lib/db/migrate.h"
#include "schema/control_queries.h"
#include "schema/home.h"

/*
 * The control plane as a whole: opening it, who may write it, the audit log,
 * small values and leases. skepd alone writes while it runs; without one, a
 * command may, inside control_enter_alone.
 */

/* Opens state/skep.sqlite of the home, synchronous=FULL. With SQL_CREATE the
 * home is made first. A home that does not exist is ERR_NOTFOUND, and named. */
int control_open(struct sql **out, const struct home *home, unsigned flags,
		 struct err *e);

/* Who is the supervisor: 1 and *row if one lives, 0 if none, -1. */
int control_supervisor(struct sql *db, struct supervisor_row *row,
		       struct arena *a, struct err *e);

/*
 * Become the supervisor: ERR_BUSY, naming the pid, if another lives; one that
 * is proven dead is followed. *epoch counts the supervisors of this home.
 */
int control_lock(struct sql *db, const char *program, int64_t *epoch,
		 struct err *e);
int control_unlock(struct sql *db, struct err *e); /* not ours: does nothing */

/* sql_enter, refused with ERR_BUSY while a supervisor lives that is not this
 * process. None can become one before sql_leave. */
int control_enter_alone(struct sql *db, struct err *e);

/* An audit row. detail is JSON or NULL; actor NULL: control_actor(). */
int control_audit(struct sql *db, const char *actor, const char *act,
		  const char *subject, const char *detail, struct err *e);

/* An import's row, in the caller's transaction. Its begin ends those of the
 * same source that were killed, its end is in the audit log. */
int control_import(struct sql *db, const struct import_run_row *row,
		   struct err *e);

/* For whom this process works: "cli:USER" unless it was said otherwise. */
const char *control_actor(void);
void control_set_actor(const char *actor); /* copied; NULL: as at the start */

/* Small values by {scope, key}: 1 and the value in the arena, 0, or -1. */
int control_kv_get(struct sql *db, const char *scope, const char *key,
		   struct arena *a, const char **value, struct err *e);
/* expires_at OPT_NONE: never. value NULL removes it. */
int control_kv_put(struct sql *db, const char *scope, const char *key,
		   const char *value, int64_t expires_at, struct err *e);

#endif
