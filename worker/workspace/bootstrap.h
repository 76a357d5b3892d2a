#ifndef WORKER_WORKSPACE_BOOTSTRAP_H
#define WORKER_WORKSPACE_BOOTSTRAP_H

#include "lib/base/err.h"
#include "worker/run/run.h"

/*
 * A workspace is made ready once, before the first command of a run works in
 * it, as the agent's definition says:
 *
 *   "bootstrap": {"files": {"AGENTS.md": "text", …},
 *                 "shell": "git init -q"}      or "command": [...]; "env", "pass"
 *
 * Files that are there are left alone. A row in the agent's file, by the place
 * where the workspace really is, says that it is done: of a directory its
 * resolved path, of a namespace when it was made. So one that was moved or made
 * anew is made ready again. Of several runs at once one does it and the others
 * wait; one that fails or dies leaves it to the next.
 */
int bootstrap_run(struct run *r, struct err *e); /* with its workspace open */

/* Whether it has a command to run, which needs a workspace that is mounted. */
bool bootstrap_commands(const struct run *r);

#endif
