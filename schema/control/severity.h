#ifndef SCHEMA_CONTROL_SEVERITY_H
#define SCHEMA_CONTROL_SEVERITY_H

#include "schema/control/run.h"
#include "schema/control/severity.def"

#include <stdbool.h>

/*
 * Lifecycle × health × artifacts → severity: pure functions over severity.def.
 * None of this is stored; it follows from the row and from the state of the
 * process. Words are constants.
 */
enum outcome {
#define X(word) OUTCOME_##word,
	SEVERITY_OUTCOMES(X)
#undef X
		OUTCOMES
};

enum health {
#define X(word) HEALTH_##word,
	SEVERITY_HEALTHS(X)
#undef X
		HEALTHS
};

enum artifacts_status {
#define X(word) ARTIFACTS_##word,
	SEVERITY_ARTIFACTS(X)
#undef X
		ARTIFACTS_STATUSES
};

enum severity {
#define X(word) SEVERITY_##word,
	SEVERITY_LEVELS(X)
#undef X
		SEVERITIES
};

enum severity severity_of(enum outcome outcome, enum health health,
			  enum artifacts_status artifacts);

/* What is known about a run beside its row. */
struct run_signs {
	bool supervised; /* a supervisor is running */
	bool has_worker; /* its worker is alive or is being started */
	bool silent;     /* and has not sent a heartbeat for too long */
	bool waits;      /* waits for an answer or a message */
};

enum health run_health(enum run_state state, const struct run_signs *s);

/* Sets health, artifacts_status and severity of a row that was read, in which
 * artifacts_status is NULL unless the agent's version requires files. */
void run_classify(struct run_row *row, const struct run_signs *s);

/* Adds one assessed active run to the row of its group, which is as bad as its
 * worst run; run NULL: none is active. */
void invocation_classify(struct invocation_row *row, const struct run_row *run);

/* The same for callers that see only rows and processes: looks for the
 * worker. */
void run_classify_from_outside(struct run_row *row, bool supervised);

#endif
