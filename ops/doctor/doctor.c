#include "ops/doctor/doctor.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "ops/maintain/wal_readers.h"
#include "schema/control/control.h"
#include "schema/watchdog_record.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>

SHAPE_DEFINE(finding, FINDING_SHAPE);

static const struct {
	const char *name;
	const char *word; /* its severity */
	enum severity severity;
	enum fix fix;
	const char *why, *how;
} table[FINDING_COUNT] = {
#define FINDING(name, severity, fix, why, how)                         \
	[FINDING_##name] = {#name,     #severity, SEVERITY_##severity, \
			    FIX_##fix, why,       how},
#include "ops/doctor/doctor.def"
#undef FINDING
};

enum severity finding_severity(enum finding_code code)
{
	return table[code].severity;
}

enum fix finding_fix(enum finding_code code)
{
	return table[code].fix;
}

void doctor_report(struct doctor *d, enum finding_code code,
		   const char *subject, const char *fmt, ...)
{
	struct finding f = {.severity = table[code].word,
			    .finding = table[code].name,
			    .subject = arena_text(&d->arena, subject),
			    .why = table[code].why,
			    .fix = table[code].how,
			    .fixable = table[code].fix != FIX_NONE};
	char text[2 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(text, sizeof text, fmt, ap) >= (int)sizeof text)
		text_mark_cut(text, sizeof text);
	va_end(ap);
	f.what = arena_text(&d->arena, text);
	d->found(d->arg, code, &f);
}

/* A new home has none; a home with agents' files must have one. */
static void examine_without_control(struct doctor *d, const char *path)
{
	struct home_path agents = home_path(d->home, HOME_AGENTS);
	DIR *dir = opendir(agents.text);
	const struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		char file[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof file, "%.*s/%s/agent.sqlite",
			 PATH_MAX - 300, agents.text, entry->d_name);
		n += file_exists(file);
	}
	if (dir)
		closedir(dir);
	if (n > 0)
		doctor_report(d, FINDING_control_lost, path,
			      "it is missing, but there are databases of "
			      "%d agents",
			      n);
	else
		doctor_report(d, FINDING_control_missing, path,
			      "it does not exist");
}

static void open_control(struct doctor *d)
{
	struct home_path path = home_path(d->home, HOME_CONTROL_DB);
	struct supervisor_row row;
	struct arena a = {0};
	struct err e;

	if (!file_exists(path.text)) {
		examine_without_control(d, path.text);
		return;
	}
	if (sql_open(&d->control, path.text, control_schema.queries,
		     SQL_READONLY, &e)) {
		d->control = NULL;
		return; /* the checks below report the reason */
	}
	d->supervised = control_supervisor(d->control, &row, &a, &e) > 0;
	arena_fini(&a);
}

static void check_watchdog(struct doctor *d)
{
	struct watchdog_record r;
	struct home_path path = home_path(d->home, HOME_WATCHDOG);
	char when[CLOCK_TEXT];

	if (!watchdog_read(d->home, &r))
		return;
	if (d->supervised && !r.alive)
		doctor_report(d, FINDING_watchdog_gone, path.text,
			      "process %lld has ended",
			      (long long)r.watchdog.pid);
	if (r.ended_at == 0)
		return;
	clock_text(r.ended_at, when);
	if (!d->supervised)
		doctor_report(d, FINDING_crash_loop, path.text,
			      "skepd ended at %s (%s); restarts: %lld%s", when,
			      r.cause, (long long)r.restarts,
			      r.alive ? "" : "; the watchdog has given up");
	else
		doctor_report(d, FINDING_restarted, path.text,
			      "skepd was restarted %lld times, last at %s (%s)",
			      (long long)r.restarts, when, r.cause);
}

void doctor_examine(struct doctor *d)
{
	d->readers = wal_readers_scan(home_path(d->home, HOME_READERS).text);
	open_control(d);
	doctor_lost(d);
	check_watchdog(d);
	doctor_files(d);
	doctor_agents(d);
	doctor_host(d);
	if (!d->supervised)
		doctor_cgroups(d);
	if (d->control)
		doctor_rows(d);
	doctor_databases(d);
	if (!d->alone)
		doctor_imports(d);
}

void doctor_fini(struct doctor *d)
{
	wal_readers_free(d->readers);
	d->readers = NULL;
	sql_close(d->control);
	d->control = NULL;
	arena_fini(&d->arena);
}
