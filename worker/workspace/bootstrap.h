#ifndef WORKER_WORKSPACE_BOOTSTRAP_H
#define WORKER_WORKSPACE_BOOTSTRAP_H

#include "lib/base/err.h"
#include "worker/run/run.h"

/*
 * The set-up of a workspace, done once, before the first command of a run uses
 * it. The definition of an agent contains:
 *
 *   "bootstrap": {"files": {"AGENTS.md": "text", …},
 *                 "shell": "git init -q"}      or "command": [...]; "env", "pass"
 *
 * Existing files are not changed. A row in the agent file records that it is
 * done; its key is the resolved path of a directory, or the creation time of a
 * namespace. So a workspace that was moved or created again is set up again. Of
 * several simultaneous runs one does it and the others wait; if it fails or
 * dies, the next one does it.
 */
int bootstrap_run(struct run *r, struct err *e); /* the workspace is open */

/* Whether it has a command to run, which needs a mounted workspace. */
bool bootstrap_commands(const struct run *r);

#endif
