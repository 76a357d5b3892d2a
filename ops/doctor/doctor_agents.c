/* Definitions in files: reads what their agents will get, without changing a
 * row. */
#include "ops/doctor/doctor.h"

#include "lib/base/text.h"
#include "lib/os/file.h"
#include "schema/control/agent.h"
#include "schema/control_queries.h"

#include <dirent.h>

static int read_files(struct doctor *d, const char *name, struct err *e)
{
	struct agent_row row = {.name = name};

	if (text_check_name("agent", name, e))
		return -1;
	if (!d->control ||
	    sql_get(d->control, Q_AGENT_GET, &(struct agent_get_in){name}, &row,
		    &d->arena, e) <= 0)
		row = (struct agent_row){.name = name,
					 .driver = "script",
					 .workspace = "disk",
					 .is_enabled = true,
					 .spec = "{}"};
	return agent_read_files(d->home, name, &row, &d->arena, e);
}

void doctor_agents(struct doctor *d)
{
	struct home_path agents = home_path(d->home, HOME_AGENTS);
	DIR *dir = opendir(agents.text);
	const struct dirent *entry;
	struct err e;

	while (dir && (entry = readdir(dir))) {
		struct home_path path = home_join(d->home, HOME_AGENTS,
						  arena_printf(&d->arena,
							       "%s/agent.json",
							       entry->d_name));

		if (entry->d_name[0] != '.' && file_exists(path.text) &&
		    read_files(d, entry->d_name, &e) < 0)
			doctor_report(d, FINDING_definition_bad, path.text,
				      "%s", e.text);
	}
	if (dir)
		closedir(dir);
}
