#include "supervisor/run/run_fsm.h"

#define X(from, event, to, act) \
	[RUN_##from][RUN_EV_##event] = {true, RUN_##to, RUN_EFFECT_##act},
static const struct run_step moves[RUN_STATES][RUN_EVENT_COUNT] = {
	RUN_MOVES(X)};
#undef X

#define X(name) [RUN_EV_##name] = #name,
static const char *const names[RUN_EVENT_COUNT] = {RUN_EVENTS(X)};
#undef X

#define BACKOFF_MAX_MS (10 * 60 * 1000)

struct run_step run_fsm(enum run_state state, enum run_event event)
{
	return moves[state][event];
}

const char *run_event_name(enum run_event event)
{
	return names[event];
}

enum run_event run_gone_event(enum run_verdict verdict)
{
	static const enum run_event of[RUN_VERDICTS] = {
		[RUN_NO_VERDICT] = RUN_EV_GONE_FAILED,
		[RUN_WILL_SUCCEED] = RUN_EV_GONE_SUCCEEDED,
		[RUN_WILL_FAIL] = RUN_EV_GONE_FAILED,
		[RUN_WILL_CANCEL] = RUN_EV_GONE_CANCELLED,
		[RUN_WILL_TIME_OUT] = RUN_EV_GONE_TIMED_OUT,
		[RUN_WILL_AGAIN] = RUN_EV_GONE_AGAIN,
	};

	return of[verdict];
}

enum run_verdict run_verdict_join(enum run_verdict asked, enum run_verdict said)
{
	if (asked == RUN_NO_VERDICT || said == RUN_WILL_SUCCEED)
		return said;
	return asked;
}

enum run_verdict run_verdict_failed(bool worth_it, int64_t attempt,
				    int64_t max_attempts)
{
	return worth_it && attempt < max_attempts ? RUN_WILL_AGAIN
						  : RUN_WILL_FAIL;
}

enum run_verdict run_verdict_wish(enum run_verdict old, enum run_verdict wish)
{
	if (old == RUN_NO_VERDICT || old == RUN_WILL_AGAIN)
		return wish;
	return old;
}

int64_t run_backoff(int64_t base_ms, int64_t attempt)
{
	int64_t ms = base_ms;

	for (int64_t i = 1; i < attempt && ms < BACKOFF_MAX_MS; i++)
		ms *= 2;
	return ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS;
}
