/* Every combination of outcome, health and artifacts has the severity that its
 * worst part deserves. */
#include "schema/control/severity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The severity of each word alone, stated independently. */
static const int of_outcome[OUTCOMES] = {
	[OUTCOME_skipped] = SEVERITY_info,
	[OUTCOME_timed_out] = SEVERITY_warning,
	[OUTCOME_failed] = SEVERITY_critical,
	[OUTCOME_aborted] = SEVERITY_critical,
};
static const int of_health[HEALTHS] = {
	[HEALTH_due] = SEVERITY_info,
	[HEALTH_running] = SEVERITY_info,
	[HEALTH_idle] = SEVERITY_warning,
	[HEALTH_degraded] = SEVERITY_warning,
	[HEALTH_disconnected] = SEVERITY_warning,
	[HEALTH_stalled] = SEVERITY_critical,
	[HEALTH_misfired] = SEVERITY_critical,
	[HEALTH_orphaned] = SEVERITY_critical,
	[HEALTH_process_dead] = SEVERITY_critical,
};
static const int of_artifacts[ARTIFACTS_STATUSES] = {
	[ARTIFACTS_partial] = SEVERITY_warning,
	[ARTIFACTS_invalid] = SEVERITY_warning,
	[ARTIFACTS_missing] = SEVERITY_critical,
};

static int worst(int a, int b)
{
	return a > b ? a : b;
}

static void every_combination_is_as_bad_as_its_worst_part(void **state)
{
	(void)state;
	for (int o = 0; o < OUTCOMES; o++)
		for (int h = 0; h < HEALTHS; h++)
			for (int d = 0; d < ARTIFACTS_STATUSES; d++) {
				enum severity got = severity_of(
					(enum outcome)o, (enum health)h,
					(enum artifacts_status)d);
				int want = worst(
					of_outcome[o],
					worst(of_health[h], of_artifacts[d]));

				assert_int_equal(got, want);
			}
}

/* All signs that there can be, in all states. */
static void a_run_is_healthy_only_with_a_worker_and_a_supervisor(void **state)
{
	(void)state;
	for (int st = 0; st < RUN_STATES; st++)
		for (unsigned bits = 0; bits < 16; bits++) {
			struct run_signs s = {bits & 1, bits & 2, bits & 4,
					      bits & 8};
			enum health h = run_health((enum run_state)st, &s);

			if (!run_state_lives((enum run_state)st))
				assert_int_equal(h, HEALTH_ok);
			else if (!s.supervised)
				assert_int_equal(
					h, s.has_worker ? HEALTH_orphaned
							: HEALTH_process_dead);
			else if (s.has_worker && s.silent)
				assert_int_equal(h, HEALTH_stalled);
			else if (s.has_worker)
				assert_true(h == HEALTH_running ||
					    h == HEALTH_idle);
		}
}

static struct run_row judged(const char *state, const char *reason,
			     const char *contract, struct run_signs s)
{
	struct run_row row = {
		.state = state, .reason = reason, .artifacts_status = contract};

	run_classify(&row, &s);
	return row;
}

static void a_row_says_how_bad_it_is_and_why(void **state)
{
	struct run_signs well = {.supervised = true, .has_worker = true};
	struct run_signs quiet = {true, true, true, false};
	struct run_row row;

	(void)state;
	row = judged("failed", "artifact_missing", "object", well);
	assert_string_equal(row.artifacts_status, "missing");
	assert_string_equal(row.severity, "critical");
	row = judged("succeeded", "completed", "object", well);
	assert_string_equal(row.artifacts_status, "passed");
	assert_string_equal(row.severity, "neutral");
	row = judged("running", "hello", NULL, well);
	assert_string_equal(row.health, "running");
	assert_string_equal(row.severity, "info");
	row = judged("running", "hello", NULL, quiet);
	assert_string_equal(row.health, "stalled");
	assert_string_equal(row.severity, "critical");
	row = judged("timed_out", "run_timeout", NULL, well);
	assert_string_equal(row.severity, "warning");
	row = judged("queued", "accepted", NULL, well);
	assert_string_equal(row.severity, "neutral");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_combination_is_as_bad_as_its_worst_part),
		cmocka_unit_test(
			a_run_is_healthy_only_with_a_worker_and_a_supervisor),
		cmocka_unit_test(a_row_says_how_bad_it_is_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
