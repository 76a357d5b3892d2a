#ifndef WORKER_RUN_DIAGNOSE_H
#define WORKER_RUN_DIAGNOSE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Diagnostic records of a run: rows of the agent file, read with `skep
 * diagnostic export`. Off unless skep.json (agent.diagnostics) or the file
 * itself (`skep diagnostic limit`) enables them. There are at most a few
 * hundred per attempt, and a record that cannot be written is dropped, so they
 * never affect the run. Possible secrets (values of the environment) are left
 * out.
 *
 * Areas: "worker" (versions, settings, duration of the start), "command" (what
 * was started, or why it failed), "line" (lines that a driver could not parse),
 * "output" (what was left out), "end" (outcome, time, memory).
 */
struct run;
struct run_end;
struct child_spec;

/* Call it after the transcript was opened. */
void diagnose_begin(struct run *r);

/* why NULL: it was started. */
void diagnose_command(struct run *r, const struct child_spec *spec,
		      const char *why);

void diagnose_line(struct run *r, const char *what, const char *p, size_t n);

void diagnose_output(struct run *r, int64_t read, int64_t dropped);

void diagnose_end(struct run *r, const struct run_end *end);

#endif
