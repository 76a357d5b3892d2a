#include "schema/control/severity.h"

#include "lib/os/process.h"

#include <stdio.h>
#include <string.h>

#define X(word) #word,
static const char *const healths[] = {SEVERITY_HEALTHS(X)};
static const char *const artifacts_statuses[] = {SEVERITY_ARTIFACTS(X)};
static const char *const levels[] = {SEVERITY_LEVELS(X)};
#undef X

enum dimension { DIMENSION_outcome, DIMENSION_health, DIMENSION_artifacts };

#define VALUE_outcome(word)   OUTCOME_##word
#define VALUE_health(word)    HEALTH_##word
#define VALUE_artifacts(word) ARTIFACTS_##word

static const struct {
	enum dimension dimension;
	unsigned value;
	enum severity severity;
} rules[] = {
#define X(dimension, word, level) \
	{DIMENSION_##dimension, VALUE_##dimension(word), SEVERITY_##level},
	SEVERITY_RULES(X)
#undef X
};

enum severity severity_of(enum outcome outcome, enum health health,
			  enum artifacts_status artifacts)
{
	const unsigned values[] = {
		[DIMENSION_outcome] = outcome,
		[DIMENSION_health] = health,
		[DIMENSION_artifacts] = artifacts,
	};

	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (values[rules[i].dimension] == rules[i].value)
			return rules[i].severity;
	return SEVERITY_neutral;
}

static const char *severity_name(enum severity s)
{
	return levels[s];
}

static int severity_from(const char *word)
{
	for (int i = 0; word && i < SEVERITIES; i++)
		if (!strcmp(levels[i], word))
			return i;
	return -1;
}

static int health_from(const char *word)
{
	int i = 0;

	while (i < HEALTHS && strcmp(healths[i], word) != 0)
		i++;
	return i;
}

static const char *health_name(enum health h)
{
	return healths[h];
}

static const char *artifacts_status_name(enum artifacts_status d)
{
	return artifacts_statuses[d];
}

/* --- runs ------------------------------------------------------------- */

static enum outcome run_outcome(enum run_state state)
{
	switch ((int)state) {
	case RUN_SUCCEEDED:
		return OUTCOME_succeeded;
	case RUN_FAILED:
		return OUTCOME_failed;
	case RUN_CANCELLED:
		return OUTCOME_cancelled;
	case RUN_TIMED_OUT:
		return OUTCOME_timed_out;
	default:
		return OUTCOME_none;
	}
}

enum health run_health(enum run_state state, const struct run_signs *s)
{
	if (!run_state_lives(state))
		return HEALTH_ok;
	if (!s->has_worker)
		return state == RUN_ENDING && s->supervised
			       ? HEALTH_running /* exit verification is in
						 * progress */
			       : HEALTH_process_dead;
	if (!s->supervised)
		return HEALTH_orphaned;
	if (s->silent)
		return HEALTH_stalled;
	return s->waits || state == RUN_PAUSED ? HEALTH_idle : HEALTH_running;
}

static enum artifacts_status run_artifacts_status(enum run_state state,
						  const char *reason,
						  bool contract)
{
	if (!strcmp(reason, "artifact_missing"))
		return ARTIFACTS_missing;
	return contract && state == RUN_SUCCEEDED ? ARTIFACTS_passed
						  : ARTIFACTS_not_expected;
}

void run_classify(struct run_row *row, const struct run_signs *s)
{
	enum run_state state = (enum run_state)run_state_from(row->state);
	enum health health = run_health(state, s);
	enum artifacts_status artifacts = run_artifacts_status(
		state, row->reason, row->artifacts_status != NULL);

	row->health = health_name(health);
	row->artifacts_status = artifacts_status_name(artifacts);
	row->severity = severity_name(
		severity_of(run_outcome(state), health, artifacts));
}

/* Finished runs are only counted, so only active ones are needed. */
static void classify_counts(struct invocation_row *row)
{
	enum outcome worst = row->failed      ? OUTCOME_failed
			     : row->timed_out ? OUTCOME_timed_out
			     : row->ended_at != OPT_NONE && row->succeeded
				     ? OUTCOME_succeeded
				     : OUTCOME_none;

	row->health = health_name(HEALTH_ok);
	row->severity = severity_name(
		severity_of(worst, HEALTH_ok, ARTIFACTS_not_expected));
}

void invocation_classify(struct invocation_row *row, const struct run_row *run)
{
	if (!row->severity)
		classify_counts(row);
	if (!run)
		return;
	if (!strcmp(row->health, health_name(HEALTH_ok)) ||
	    health_from(run->health) > health_from(row->health))
		row->health = run->health;
	if (severity_from(run->severity) > severity_from(row->severity))
		row->severity = run->severity;
}

void run_classify_from_outside(struct run_row *row, bool supervised)
{
	struct process_identity m = {.pid = row->pid,
				     .start_ticks = row->start_ticks};
	/* the supervisor may be starting one that it has not recorded yet */
	struct run_signs s = {.supervised = supervised,
			      .has_worker = supervised};

	if (row->pid != OPT_NONE && row->boot_id) {
		(void)snprintf(m.boot_id, sizeof m.boot_id, "%s", row->boot_id);
		s.has_worker = process_is_alive(&m);
	}
	run_classify(row, &s);
}
