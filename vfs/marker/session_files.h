#ifndef VFS_MARKER_SESSION_FILES_H
#define VFS_MARKER_SESSION_FILES_H

#include "schema/agent/transcript/branch.h"

/*
 * A session and the namespaces in which its runs worked move to the same point of
 * time: to the last marker (schema/agent/marker.h) at or before an event. Each
 * call is one transaction: if the process is killed, all of it happened or
 * nothing.
 *
 * ERR_UNSUPPORTED: the runs worked in a host directory, which has no snapshots.
 * ERR_NOTFOUND: there is no marker. ERR_BUSY: a run works in a namespace.
 * ERR_CONFLICT: runs of other sessions, changes that no run made, or changes
 * after the rewind would be undone too, and `force` is not set.
 */
int session_rewind_files(struct agent_file *f, const char *key, int64_t seq,
			 bool force, struct err *e);

/* session_restore, with the files of a rewind that has changed some. */
int session_restore_files(struct agent_file *f, const char *key, bool force,
			  struct err *e);

/* session_fork. The new session works in a new namespace, a fork of the one in
 * which the last run up to n->at worked. `workspace` is its name; NULL: the key of
 * the session. */
int session_fork_files(struct agent_file *f, const struct fork_new *n,
		       const char *workspace, struct session_row *row,
		       struct arena *a, struct err *e);

#endif
