#ifndef SCHEMA_CONTROL_CONTROL_H
#define SCHEMA_CONTROL_CONTROL_H

#include "lib/base/arena.h"
#include "lib/db/migrate.h"
#include "schema/control_queries.h"
#include "schema/home.h"

/*
 * The control plane as a whole: opening it, the supervisor row, the audit log,
 * small values and leases. While skepd runs, only skepd writes. Without one, a
 * command may write, inside control_enter_alone.
 */

/* Opens state/skep.sqlite of the home, synchronous=FULL. With SQL_CREATE the
 * home is created first. ERR_NOTFOUND names a home that does not exist. */
int control_open(struct sql **out, const struct home *home, unsigned flags,
		 struct err *e);

/* Reads the supervisor row: 1 and *row if that process is alive, 0 if there is
 * none, or -1. */
int control_supervisor(struct sql *db, struct supervisor_row *row,
		       struct arena *a, struct err *e);

/*
 * Makes this process the supervisor. ERR_BUSY, with the pid, if another one is
 * alive; a dead one is replaced. *epoch counts the supervisors of this home.
 */
int control_lock(struct sql *db, const char *program, int64_t *epoch,
		 struct err *e);
int control_unlock(struct sql *db, struct err *e); /* does nothing if it is
						    * another process */

/* sql_enter, but ERR_BUSY while another process is the supervisor. None can
 * start before sql_leave. */
int control_enter_alone(struct sql *db, struct err *e);

/* Adds an audit row. detail is JSON or NULL; actor NULL: control_actor(). */
int control_audit(struct sql *db, const char *actor, const char *act,
		  const char *subject, const char *detail, struct err *e);

/* Adds the row of an import, in the transaction of the caller. Its begin ends
 * killed imports of the same source; its end is in the audit log. */
int control_import(struct sql *db, const struct import_run_row *row,
		   struct err *e);

/* The user of this process: "cli:USER" unless set otherwise. */
const char *control_actor(void);
void control_set_actor(const char *actor); /* copied; NULL: as at the start */

/* Small values by {scope, key}: returns 1 and the value in the arena, 0, or
 * -1. */
int control_kv_get(struct sql *db, const char *scope, const char *key,
		   struct arena *a, const char **value, struct err *e);
/* expires_at OPT_NONE: never. value NULL deletes it. */
int control_kv_put(struct sql *db, const char *scope, const char *key,
		   const char *value, int64_t expires_at, struct err *e);

#endif
