#include "cli/migration_view.h"

#include "lib/db/migrate.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define EVERY_MS 1000

static void print_progress(const struct db_migrating *m)
{
	bool terminal = isatty(STDERR_FILENO);

	if (!terminal && m->seconds > 1)
		return;
	fprintf(stderr,
		"%sskep: updating the %s %s to schema version %d of %d: %d s "
		"so far%s",
		terminal ? "\r\033[K" : "", m->kind, m->path, m->version,
		m->last, m->seconds, terminal ? "" : "\n");
	(void)fflush(stderr);
}

void migration_view_begin(void)
{
	db_watch_migrations(print_progress, EVERY_MS);
}
