#include "supervisor/run/run_fsm.h"

#define X(from, event, to, effect) \
	[RUN_##from][RUN_EV_##event] = {true, RUN_##to, RUN_EFFECT_##effect},
static const struct run_fsm_transition
	transitions[RUN_STATES][RUN_EVENT_COUNT] = {RUN_TRANSITIONS(X)};
#undef X

#define X(name) [RUN_EV_##name] = #name,
static const char *const names[RUN_EVENT_COUNT] = {RUN_EVENTS(X)};
#undef X

struct run_fsm_transition run_fsm(enum run_state state, enum run_event event)
{
	return transitions[state][event];
}

const char *run_event_name(enum run_event event)
{
	return names[event];
}

enum run_event run_gone_event(enum run_pending_state pending_state)
{
	static const enum run_event of[RUN_PENDING_STATES] = {
		[RUN_PENDING_NONE] = RUN_EV_GONE_FAILED,
		[RUN_PENDING_SUCCEEDED] = RUN_EV_GONE_SUCCEEDED,
		[RUN_PENDING_FAILED] = RUN_EV_GONE_FAILED,
		[RUN_PENDING_CANCELLED] = RUN_EV_GONE_CANCELLED,
		[RUN_PENDING_TIMED_OUT] = RUN_EV_GONE_TIMED_OUT,
		[RUN_PENDING_QUEUED] = RUN_EV_GONE_REQUEUED,
	};

	return of[pending_state];
}

enum run_pending_state run_pending_merge(enum run_pending_state requested,
					 enum run_pending_state reported)
{
	if (requested == RUN_PENDING_NONE || reported == RUN_PENDING_SUCCEEDED)
		return reported;
	return requested;
}

enum run_pending_state run_pending_failed(bool retryable, int64_t attempt,
					  int64_t max_attempts)
{
	return retryable && attempt < max_attempts ? RUN_PENDING_QUEUED
						   : RUN_PENDING_FAILED;
}

enum run_pending_state run_pending_request(enum run_pending_state old,
					   enum run_pending_state requested)
{
	if (old == RUN_PENDING_NONE || old == RUN_PENDING_QUEUED)
		return requested;
	return old;
}
