/* Compares the rows of the control plane with what exists. */
#include "ops/doctor/doctor.h"

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/id.h"
#include "lib/os/process.h"
#include "schema/control/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SLACK_MS 60000

static void check_owner(struct doctor *d)
{
	struct supervisor_row row = {.pid = 0};
	struct err e;
	int alive = control_supervisor(d->control, &row, &d->arena, &e);

	if (alive == 0 && row.pid)
		doctor_report(d, FINDING_stale_owner, sql_path(d->control),
			      "process %" PRId64 " is named as the supervisor, "
			      "and is not there",
			      row.pid);
}

static void check_leases(struct doctor *d)
{
	struct lease_row *rows;
	struct err e;
	int n = sql_collect(d->control, Q_LEASE_LIST, NULL, 1000, &rows,
			    &d->arena, &e);

	for (int i = 0; i < n; i++)
		if (rows[i].expires_at < clock_now() - SLACK_MS)
			doctor_report(d, FINDING_stale_lease, rows[i].name,
				      "%s has held it", rows[i].holder);
}

static void check_clock(struct doctor *d)
{
	struct newest_row_row row = {.at = OPT_NONE};
	char text[CLOCK_TEXT];
	struct err e;

	if (sql_get(d->control, Q_NEWEST_ROW, NULL, &row, NULL, &e) > 0 &&
	    row.at != OPT_NONE && row.at > clock_now() + SLACK_MS)
		doctor_report(d, FINDING_clock_wrong, "clock",
			      "the newest row is of %s",
			      clock_text(row.at, text));
}

static void check_backups(struct doctor *d)
{
	struct backup_run_row *rows;
	struct err e;
	int n = sql_collect(d->control, Q_BACKUP_RUN_LIST,
			    &(struct backup_run_list_in){1}, 1, &rows,
			    &d->arena, &e);

	if (n == 0)
		doctor_report(d, FINDING_backup_none, d->home->root,
			      "no backup was ever made");
	else if (n > 0 && !strcmp(rows[0].state, "failed"))
		doctor_report(d, FINDING_backup_failed, rows[0].id, "%s",
			      rows[0].problem ? rows[0].problem : "no reason");
}

static void check_schedules(struct doctor *d)
{
	struct schedule_problems_row *rows;
	struct err e;
	int n = sql_collect(d->control, Q_SCHEDULE_PROBLEMS, NULL, 1000, &rows,
			    &d->arena, &e);

	for (int i = 0; i < n; i++) {
		if (rows[i].held)
			doctor_report(d, FINDING_schedule_held, rows[i].name,
				      "%s", rows[i].held);
		else
			doctor_report(
				d, FINDING_schedule_failed, rows[i].name, "%s",
				rows[i].reason ? rows[i].reason : "no reason");
	}
}

/* Attachments are named by the hash of their bytes; they are read one at a
 * time. */
static void check_media(struct doctor *d)
{
	char last[ID_SIZE] = "", hash[HASH_HEX];
	struct media_after_row row;
	struct err e;
	int found = d->quick ? 0 : 1;

	while (found == 1) {
		struct arena a = {0};

		found = sql_get(d->control, Q_MEDIA_AFTER,
				&(struct media_after_in){last}, &row, &a, &e);
		if (found == 1) {
			snprintf(last, sizeof last, "%s", row.id);
			hash_of(row.bytes.p, row.bytes.n, hash);
			if (strcmp(hash, row.sha256) != 0)
				doctor_report(
					d, FINDING_media_wrong, last,
					"SHA-256 is %.16s…, and was %.16s…",
					hash, row.sha256);
		}
		arena_fini(&a);
	}
}

static void check_messages(struct doctor *d)
{
	struct messages_stuck_row n = {0};
	struct err e;

	if (sql_get(d->control, Q_MESSAGES_STUCK, NULL, &n, NULL, &e) > 0 &&
	    n.dead + n.unknown + n.inbound > 0)
		doctor_report(d, FINDING_messages_stuck, "messages",
			      "%" PRId64 " dead and %" PRId64
			      " unknown on their way out, %" PRId64
			      " dead that came in",
			      n.dead, n.unknown, n.inbound);
}

void doctor_rows(struct doctor *d)
{
	check_messages(d);
	check_owner(d);
	check_leases(d);
	check_clock(d);
	check_backups(d);
	check_schedules(d);
	check_media(d);
	doctor_budgets(d);
}
