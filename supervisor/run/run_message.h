#ifndef SUPERVISOR_RUN_RUN_MESSAGE_H
#define SUPERVISOR_RUN_RUN_MESSAGE_H

#include "supervisor/run/internal.h"

/*
 * Messages to a session (skep msg send) go to the run that it executes, as
 * commands `message`: those that wait when the run starts are in its start
 * message, later ones follow while it runs. A message is marked as read when the
 * run has it in its transcript. A run that refuses it, or ends before, leaves it
 * to the next run of the session.
 *
 * A definition decides with the member `receive`. Without it, acp and chat
 * receive messages; other programs read them with `skep msg receive`, or with
 * `skep-run receive` inside a run.
 */
bool agent_receives(const struct agent_row *agent, const cJSON *spec);

/* Adds commands for the unread messages of the session, in the transaction.
 * Returns their number, or -1. */
struct run_address {
	const char *run, *agent, *session;
};
int run_message_offer(struct supervisor *s, const struct run_address *to,
		      struct err *e);

/* The pending messages of a run that starts, as an array for its start message;
 * NULL: there are none. */
int run_message_pending(struct supervisor *s, const char *run, struct arena *a,
			const char **out, struct err *e);

/* Offers the messages that came in the meantime. */
void run_message_check(struct active_run *l);

/* The run has the message of this command: marks it as read. */
int run_message_applied(struct active_run *l, int64_t command, struct err *e);

void run_message_open(struct supervisor *s);

#endif
