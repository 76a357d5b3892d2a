#ifndef IPC_START_MESSAGE_H
#define IPC_START_MESSAGE_H

#include "ipc/message.h"
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"

/*
 * What a worker is told when it is started: the message `start`, as one JSON
 * object on file descriptor 0, to its end. Nothing else is inherited: no other
 * descriptor but stderr (its log), no environment that matters, no handle.
 *
 *   run, attempt, token   who it is; the token proves it to the supervisor
 *   agent, session        agent id, and the session's key within the agent
 *   agent_db, schema_version, epoch
 *                         the registry's identity of the agent's file
 *   driver, config        "script", "exec", …, and that driver's own JSON
 *   prompt, prompt_key    the user's message, committed once under prompt_key
 *   replaces              a run of the session: it is rewound to before it
 *                         (the run's id if absent) whatever the attempt
 *   model, system         the agent's model and system prompt, if it has them
 *   workspace_mode, workspace
 *                         how commands see files (worker/workspace/workspace.h), and the
 *                         host's directory: the place (disk), what is below
 *                         (vfs-scratch), of no interest (vfs-only)
 *   reply                 where the answer goes: the target of an outbox row
 *                         that is committed with the end of the run
 *   sandbox, home         what it may do (lib/sandbox/spec.h; absent: anything),
 *                         and skep's own directory, which is hidden from it
 *   socket                path of the supervisor's nng listener
 *   on_supervisor_loss    "continue", or "stop" two seconds after it is gone
 *   synchronous           of ordinary commits; the end of a run is always full
 *   heartbeat_ms          a sign of life at least this often
 *   grace_ms              from SIGTERM to SIGKILL for the driver's children
 *   run_timeout_ms, idle_timeout_ms
 *                         the worker ends the run itself, as timed out
 *   output_max            bytes of a command's output that are kept
 *   diagnostics           how many debug records the agent keeps; 0: none
 */
#define START_FD 0

/* The message as it is written there. */
int start_encode(const struct msg_start *s, struct buf *out, struct err *e);

/* Makes a descriptor (memfd, close-on-exec) that yields the text, or s, from
 * its start; the caller closes it. -1 on failure. */
int start_text_to_fd(const struct buf *text, struct err *e);
int start_to_fd(const struct msg_start *s, struct err *e);

/* Reads it. Texts live in a. ERR_CANCELED: it ended before it began; whoever
 * had a message to write is gone. */
int start_from_fd(int fd, struct arena *a, struct msg_start *s, struct err *e);

#endif
