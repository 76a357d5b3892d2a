#ifndef SUPERVISOR_RUN_RUN_FSM_H
#define SUPERVISOR_RUN_RUN_FSM_H

#include "schema/control/run.h"
#include "supervisor/run/run_fsm.def"

#include <stdbool.h>
#include <stdint.h>

/* Pure functions over run_fsm.def. */

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

/* The transition of a run in `state` on `event`. */
struct run_fsm_transition run_fsm(enum run_state state, enum run_event event);
const char *run_event_name(enum run_event event);

/* The event for "all processes have exited", by the pending state. */
enum run_event run_gone_event(enum run_pending_state pending_state);

/*
 * The final state of a run. `requested` is the requested end (RUN_PENDING_NONE:
 * none), `reported` is the end of the attempt. A run that completed before the
 * request reached it has succeeded; a request overrides a failure.
 */
enum run_pending_state run_pending_merge(enum run_pending_state requested,
					 enum run_pending_state reported);

/* The state after a failure: queued again if it is retryable and attempts are
 * left, else failed. */
enum run_pending_state run_pending_failed(bool retryable, int64_t attempt,
					  int64_t max_attempts);

/* The requested end after another request: a cancel overrides a retry. */
enum run_pending_state run_pending_request(enum run_pending_state old,
					   enum run_pending_state requested);

#endif
