#ifndef IPC_START_MESSAGE_H
#define IPC_START_MESSAGE_H

#include "ipc/message.h"
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"

/*
 * The message `start`, which a worker reads when it is started: one JSON object
 * on file descriptor 0, up to the end of file. The worker inherits nothing else
 * except stderr (its log).
 *
 *   run, attempt, token   its identity; the token is the proof
 *   agent, session        agent id, and the session's key within the agent
 *   agent_db, schema_version, epoch
 *                         the registry's identity of the agent's file
 *   driver, config        "script", "exec", …, and that driver's own JSON
 *   prompt, prompt_key    the user's message, committed once in all attempts
 *                         under prompt_key (the run's id if absent)
 *   replaces              a run of the session: rewind to before it
 *   model, system         the agent's model and system prompt, if it has them
 *   workspace_mode, workspace
 *                         how commands see files (worker/workspace/workspace.h),
 *                         and the host directory: the workspace (disk), the
 *                         lower directory of a new namespace (vfs-scratch),
 *                         unused (vfs-only)
 *   namespace, namespace_make
 *                         in the vfs modes: the namespace ("main" if absent),
 *                         and whether the worker creates it: it must exist
 *                         (never), only if it does not (missing, the default),
 *                         or it must not exist (always)
 *   fork_of, fork_agent, fork_db
 *                         NAMESPACE[@SNAPSHOT] that a new one is forked from,
 *                         of another agent and its file, if those are present
 *   is_ephemeral          the new namespace ends with the attempt
 *   is_shared             other runs may use it at the same time
 *   session_workspace     the namespace that the session names ("": none), as
 *                         skepd assumes; if that is wrong, the attempt ends
 *                         before it begins. Absent: the run names its own
 *   reply                 the receiver of the reply: target of an outbox row
 *                         that is committed with the end of the run
 *   sandbox, home         its sandbox (lib/sandbox/spec.h; absent: none), and
 *                         skep's home, which is hidden from it
 *   socket                path of the supervisor's socket
 *   on_supervisor_loss    "continue", or "stop" two seconds after the loss
 *   synchronous           of streamed commits; the end of a run is always full
 *   heartbeat_ms          maximum interval between heartbeats
 *   grace_ms              from SIGTERM to SIGKILL for the driver's children
 *   run_timeout_ms, idle_timeout_ms
 *                         the worker enforces both
 *   output_max            maximum number of bytes of a command's output
 *   diagnostics           number of debug records to keep; 0: none
 */
#define START_FD 0

/* Appends the message in this format. */
int start_encode(const struct msg_start *s, struct buf *out, struct err *e);

/* Creates a descriptor (memfd, close-on-exec) that yields the text, or s, from
 * its start; the caller closes it. -1 on failure. */
int start_text_to_fd(const struct buf *text, struct err *e);
int start_to_fd(const struct msg_start *s, struct err *e);

/* Reads it. Texts are allocated in a. ERR_CANCELED: end of file without a
 * message; the writer is gone. */
int start_from_fd(int fd, struct arena *a, struct msg_start *s, struct err *e);

#endif
