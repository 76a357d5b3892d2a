#ifndef SCHEMA_CONTROL_CHANNEL_RUN_DELIVERIES_H
#define SCHEMA_CONTROL_CHANNEL_RUN_DELIVERIES_H

#include "schema/agent/agent_file.h"
#include "schema/control_queries.h"

/*
 * The deliveries of a run. Its worker wrote outbox rows in the agent file,
 * under keys that begin with the run; the delivery of such a row has it as its
 * source. So both directions use an index, for any number of rows.
 */
#define OUTBOX_KEY_REPLY "reply:%s"   /* run */
#define OUTBOX_KEY_EXEC  "exec:%s:%s" /* run, key of the program */

#define DELIVERY_SOURCE 160
void delivery_source(char out[static DELIVERY_SOURCE], const char *agent,
		     int64_t outbox_id, int64_t created_at);

#define RUN_DELIVERIES 20 /* shown with the run: the newest ones */

/* [{"id", "channel", "state"}, …], newest first, in the arena. */
int run_deliveries(struct sql *control, struct agent_file *file,
		   const char *run, const char **json, struct arena *a,
		   struct err *e);

/* The same for callers that have not opened the agent file; "[]" if there is
 * none. */
int run_deliveries_of(struct sql *control, const struct run_row *run,
		      const char **json, struct arena *a, struct err *e);

/* For callers that show the run even if its deliveries cannot be read. */
const char *run_deliveries_note(const struct err *why, struct arena *a);

/* The sources of a run's deliveries, for delivery_list_of: the newest 10,000.
 * ERR_NOTFOUND: no such run. */
int run_sources(struct sql *control, const char *run, const char **json,
		struct arena *a, struct err *e);

#endif
