#ifndef SCHEMA_CONTROL_SCHEDULE_BUNDLE_H
#define SCHEMA_CONTROL_SCHEDULE_BUNDLE_H

#include "lib/base/buf.h"
#include "lib/db/sql.h"
#include "lib/json/json.h"

/* The schedules of an agent, in the document of an exported agent
 * (agent_bundle.h). */

/* Adds the member "schedules". */
int schedule_bundle_write(struct sql *db, const char *agent, struct buf *out,
			  struct err *e);

/* Adds the schedules for the imported agent. They are held until a user confirms
 * them: a copy must not do the work of its original. A name that is taken is
 * preceded by that of the agent. In the caller's transaction. */
int schedule_bundle_insert(struct sql *db, const char *agent, const cJSON *list,
			   int64_t now, struct err *e);

#endif
