#ifndef WORKER_RUN_OUTPUTS_H
#define WORKER_RUN_OUTPUTS_H

#include "worker/driver/driver.h"

/*
 * What a run has to leave behind. An agent's definition may say
 *
 *   "artifacts": {"keep": ["notes.md"], "required": ["report.md"]}
 *
 * with paths below the workspace. When the driver is done and its processes are
 * gone, each such file that is there becomes a run artifact under its path; a
 * required one that is neither there nor an artifact already makes the run fail
 * (artifact_missing), whatever the command's exit code said. A path that leads
 * out of the workspace, by .. or a link, is refused.
 */

/* Changes *end if the contract is broken; -1 if it cannot be told. */
int outputs_collect(struct run *r, struct run_end *end, struct err *e);

#endif
