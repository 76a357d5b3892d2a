#ifndef OPS_BACKUP_RESTORE_FIXUP_H
#define OPS_BACKUP_RESTORE_FIXUP_H

#include "ops/backup/restore.h"

/*
 * Turns extracted files into a home that can be started. The backup was made
 * while runs were active, and the agents' files may be slightly ahead of the
 * control plane. So:
 *
 * - there is no supervisor, and no lease is held;
 * - paths in the registry are relative to the home; every file has a new epoch;
 * - a run that has ended according to the file ends in the same way; a run that
 *   had begun fails as `restored` (its processes may still run in the original
 *   home); a run that never began is queued again;
 * - outgoing messages that were not sent are held, since they may have been sent
 *   after the backup: deliveries become `unknown`, and a user decides; the audit
 *   log has the keys of outbox entries that did not become deliveries.
 */
int fixup_home(const struct home *staged, const struct manifest *m,
	       struct restore_sum *out, struct err *e);

/* The same for one agent's file alone: holds its messages, ends its runs. */
int fixup_agent(const char *path, const char *agent, struct restore_sum *out,
		struct buf *held, struct err *e);

#endif
