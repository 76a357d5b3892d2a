#ifndef SCHEMA_AGENT_TRANSCRIPT_SESSION_IMPORT_RUN_H
#define SCHEMA_AGENT_TRANSCRIPT_SESSION_IMPORT_RUN_H

#include "lib/json/json.h"
#include "schema/agent/transcript/writer.h"

/*
 * The run of an imported event: its row is added to the agent file if it is not
 * there, and the writer appends the event as one of the run. A run whose end is
 * not in the file is `aborted`. In the transaction of the import. ERR_INVALID:
 * the member is not the id of a run.
 */
int session_import_run(struct writer *w, const cJSON *ev, struct arena *a,
		       struct err *e);

#endif
