#ifndef WORKER_RUN_DIAGNOSE_H
#define WORKER_RUN_DIAGNOSE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Records for whoever hunts a fault of a run: rows of the agent's file, read
 * with `skep diagnostic export`. Off unless skep.json (agent.diagnostics) or
 * the file itself (`skep diagnostic limit`) wants them. There are at most some
 * hundred of an attempt, and one that cannot be written is dropped: they never
 * hurt the run. What may be a secret (values of the environment) is not put in.
 *
 * Areas: "worker" (who works, with which settings, how long the start took),
 * "command" (what was started, or why it could not be), "line" (what a driver
 * could not make sense of), "output" (what was left out), "end" (outcome, time,
 * memory).
 */
struct run;
struct run_end;
struct child_spec;

/* Once the ledger is open. */
void diagnose_begin(struct run *r);

/* why NULL: it was started. */
void diagnose_command(struct run *r, const struct child_spec *spec,
		      const char *why);

void diagnose_line(struct run *r, const char *what, const char *p, size_t n);

void diagnose_output(struct run *r, int64_t taken, int64_t dropped);

void diagnose_end(struct run *r, const struct run_end *end);

#endif
