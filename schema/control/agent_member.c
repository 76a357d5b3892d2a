/* The members of a definition, with the line of an error. */
#include "schema/control/agent.h"

#include "lib/base/text.h"
#include "schema/secret.h"

#include <string.h>

/* A definition that does not name its driver keeps that of the row. */
static const char *driver_of(const cJSON *def, const struct agent_row *row)
{
	const char *driver = json_text(def, "driver", row->driver);
	struct err ignored; /* reported as the value of "driver" */

	return driver && !text_check_word("driver", AGENT_DRIVERS, driver,
					  &ignored)
		       ? driver
		       : NULL;
}

int agent_check_members(const struct agent_text *from,
			const struct agent_row *row, struct err *e)
{
	struct err ignored;
	cJSON *stored = row->spec ? json_parse("spec", row->spec,
					       strlen(row->spec), &ignored)
				  : NULL;
	char where[DEFINITION_PATH] = "";
	int rc, line;

	/* first: errors about values contain them */
	if (secret_check(from->what, from->def, e)) {
		cJSON_Delete(stored);
		return -1;
	}
	rc = definition_check(from->def, driver_of(from->def, row), stored,
			      where, e);
	line = rc && from->text ? json_line_of(from->text, where) : 0;
	cJSON_Delete(stored);
	if (rc && line)
		return err_wrap(e, "%s: line %d", from->what, line);
	return rc ? err_wrap(e, "%s", from->what) : 0;
}
