#ifndef WORKER_RUN_OUTPUTS_H
#define WORKER_RUN_OUTPUTS_H

#include "worker/driver/driver.h"

/*
 * Outputs of a run. The definition of an agent may contain
 *
 *   "artifacts": {"keep": ["notes.md"], "required": ["report.md"]}
 *
 * with paths below the workspace. When the driver has ended and its processes
 * have exited, each such file becomes a run artifact under its path. If a
 * required one is neither a file nor an artifact already, the run fails
 * (artifact_missing), regardless of the exit status of the command. A path that
 * leaves the workspace, by .. or a symbolic link, is rejected.
 */

/* Changes *end if a required output is missing; -1 if that cannot be
 * determined. */
int outputs_collect(struct run *r, struct run_end *end, struct err *e);

#endif
