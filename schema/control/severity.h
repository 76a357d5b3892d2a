#ifndef SCHEMA_CONTROL_SEVERITY_H
#define SCHEMA_CONTROL_SEVERITY_H

#include "schema/control/run.h"
#include "schema/control/severity.def"

#include <stdbool.h>

/*
 * Lifecycle × health × artifacts → severity: pure functions over severity.def.
 * Nothing of this is stored; it follows from the row and from what is seen of
 * the process. Words are constants.
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

/* What is seen of a run beside its row. */
struct run_signs {
	bool supervised; /* a supervisor is there */
	bool has_worker; /* its worker's process lives, or is being made */
	bool silent;     /* and was not heard of for too long */
	bool waits;      /* for an answer or a message */
};

enum health run_health(enum run_state state, const struct run_signs *s);

/* Sets health, artifacts_status and severity of a row as it was read, in which
 * artifacts_status is NULL unless the agent's version requires files. */
void run_classify(struct run_row *row, const struct run_signs *s);

/* Takes one of its active runs, judged, into the group's row, which is as bad as
 * its worst run; run NULL: none of them lives. */
void invocation_classify(struct invocation_row *row, const struct run_row *run);

/* The same for whoever sees only rows and processes: looks for the worker. */
void run_classify_from_outside(struct run_row *row, bool supervised);

#endif
