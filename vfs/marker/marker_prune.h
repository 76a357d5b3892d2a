#ifndef VFS_MARKER_MARKER_PRUNE_H
#define VFS_MARKER_MARKER_PRUNE_H

#include "lib/db/sql.h"

/*
 * Deletes markers, and the states that rewinds have kept, which are older than
 * `age` ms (0: none is) or not among the newest `keep` of their namespace. In
 * short transactions: how many snapshots were deleted, or -1. If it is killed, the
 * next call continues.
 */
int marker_prune(struct sql *db, int64_t keep, int64_t age, struct err *e);

#endif
