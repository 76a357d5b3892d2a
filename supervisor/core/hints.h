#ifndef SUPERVISOR_CORE_HINTS_H
#define SUPERVISOR_CORE_HINTS_H

#include <stdint.h>

/*
 * Hints between parts of the supervisor that do not include each other. If a
 * hint is lost, its receiver finds the rows later.
 */
struct supervisor;

enum hint_kind {
	HINT_OUTBOX,      /* the agent's file may have new outbox entries */
	HINT_MAILBOX,     /* a message to a session is committed */
	HINT_ATTACHMENTS, /* attachments may have lost their last user */
	HINT_AGENT_FILE,  /* the agent's file may have been migrated */
	HINT_RUN_ENDED,   /* a run has a final state */
	HINT_BUDGET,      /* a budget was changed */
	HINT_CLOCK_SET,   /* deadlines in memory move by by_ms */
	HINT_KINDS
};

struct hint {
	enum hint_kind kind;
	const char *agent;
	const char *session; /* HINT_MAILBOX; NULL, as agent: any */
	int64_t by_ms;
};

typedef void hint_fn(struct supervisor *s, const struct hint *h);

#define HINT_LISTENERS 6

struct hints {
	hint_fn *listeners[HINT_KINDS][HINT_LISTENERS];
};

void on_hint(struct supervisor *s, enum hint_kind kind, hint_fn *fn);
void send_hint(struct supervisor *s, const struct hint *h);

#endif
