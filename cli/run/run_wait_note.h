#ifndef CLI_RUN_RUN_WAIT_NOTE_H
#define CLI_RUN_RUN_WAIT_NOTE_H

#include "cli/cli.h"

/*
 * Explains on stderr why a run makes no progress, for commands that wait for
 * it: it is queued, paused or waits for an answer, the disk is full, or no
 * supervisor is running. Each reason is printed once.
 */
struct run_wait_note {
	struct cli *cli;
	int64_t since_ns; /* when the wait began, or the last event came */
	int64_t checked_ns;
	int64_t seq; /* last event that was seen */
	char shown[400];
	/* The user is asked about approvals. */
	bool asks;
};

void run_wait_note_begin(struct run_wait_note *n, struct cli *cli);

/* Prints the reason if there is a new one. Call it several times a second. */
void run_wait_note_check(struct run_wait_note *n, const struct run_row *row);

#endif
