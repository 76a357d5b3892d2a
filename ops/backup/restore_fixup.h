#ifndef OPS_BACKUP_RESTORE_FIXUP_H
#define OPS_BACKUP_RESTORE_FIXUP_H

#include "ops/backup/restore.h"

/*
 * Makes unpacked files a home that can be started. The backup is of a moment at
 * which things were going on, and the agents' files may be a little ahead of the
 * control plane. So:
 *
 * - nobody supervises, nobody holds a lease;
 * - paths in the registry are the target's; every file has a new epoch;
 * - a run that the file knows to be over ends like that, one that it knows to
 *   have begun fails as `restored` (its processes are not ours, and on the same
 *   machine may live on in the original), one that never began waits again;
 * - messages to the outside that had not been sent are held, since they may have
 *   been sent meanwhile: deliveries become `unknown`, for a person to settle; of
 *   those that nobody had taken over yet the audit log has the keys.
 */
int revive_home(const struct home *staged, const struct home *target,
		const struct manifest *m, struct restore_sum *out,
		struct err *e);

/* The same for one agent's file alone: messages held, runs in it ended. */
int revive_agent(const char *path, const char *agent, struct restore_sum *out,
		 struct buf *held, struct err *e);

#endif
