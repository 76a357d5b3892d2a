#ifndef WORKER_ACP_TRY_H
#define WORKER_ACP_TRY_H

/*
 * Does an ACP agent work at all? Starts it in an empty directory with the
 * driver's configuration (JSON, on stdin), says initialize and session/new, and prints
 * what came of each step as a line of JSON {"step", "result", "detail"} on
 * stdout; result is ok or failed, and detail is for a person. No model is asked.
 * Returns an exit status: 0 when all is well.
 */
int acp_try(const char *timeout_ms);

#endif
