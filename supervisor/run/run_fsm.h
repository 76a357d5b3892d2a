#ifndef SUPERVISOR_RUN_RUN_FSM_H
#define SUPERVISOR_RUN_RUN_FSM_H

#include "schema/control/run.h"
#include "supervisor/run/run_fsm.def"

#include <stdbool.h>
#include <stdint.h>

/* Pure functions over run_fsm.def: no rows, no processes, no time. */

enum run_event {
#define X(name) RUN_EV_##name,
	RUN_EVENTS(X)
#undef X
		RUN_EVENT_COUNT
};

enum run_effect {
#define X(name) RUN_EFFECT_##name,
	RUN_EFFECTS(X)
#undef X
		RUN_EFFECT_COUNT
};

struct run_fsm_transition {
	bool allowed;
	enum run_state to;
	enum run_effect effect;
};

/* What `event` does to a run in `state`; not allowed: nothing happens. */
struct run_fsm_transition run_fsm(enum run_state state, enum run_event event);
const char *run_event_name(enum run_event event);

/* The event that says that the tree is gone, by what was decided before. */
enum run_event run_gone_event(enum run_pending_state pending_state);

/*
 * How the run ends. `asked` is the requested end (RUN_PENDING_NONE: none),
 * `said` is the end of the attempt itself. A run that completed before the
 * request reached it has succeeded; a request overrides a failure.
 */
enum run_pending_state run_pending_merge(enum run_pending_state requested,
					 enum run_pending_state reported);

/* A failure that may go better next time, seen with the number of attempts. */
enum run_pending_state run_pending_failed(bool retryable, int64_t attempt,
					  int64_t max_attempts);

/* A new wish on top of an older one: a cancel overrules a retry. */
enum run_pending_state run_pending_request(enum run_pending_state old,
					   enum run_pending_state requested);

#endif
