#ifndef SUPERVISOR_CORE_AGENT_UPGRADE_H
#define SUPERVISOR_CORE_AGENT_UPGRADE_H

#include "lib/base/err.h"
#include "schema/control_queries.h"
#include "supervisor/core/commands.h"

/*
 * Migration of agent files that an older program created. Opening a file
 * migrates it to the schema of this program. That may take seconds and may wait
 * for a lock, so it is done in the threads for agent files (agent_work.h), once
 * for all callers that need the file.
 */
struct agent_upgrade;

/*
 * 0: the file has the current schema. 1: it is being migrated; `done` is called
 * at the end, or if done.call is NULL, HINT_AGENT_FILE is sent. -1: the migration
 * that an earlier call began has just failed.
 */
int agent_upgrade(struct supervisor *s, const struct agent_database_row *row,
		  struct completion done, struct err *e);

void agent_upgrades_free(struct supervisor *s);

#endif
