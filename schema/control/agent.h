#ifndef SCHEMA_CONTROL_AGENT_H
#define SCHEMA_CONTROL_AGENT_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "lib/json/json.h"
#include "schema/control_queries.h"
#include "schema/definition.h"
#include "schema/home.h"

/*
 * Agents. A definition is a JSON object; the members that queries use are
 * columns (driver, workspace, model, prompt, enabled), the others are stored in
 * `spec`. Every change creates a version, and a run names the version that it
 * used. Which agent is the default is not part of a version. Texts of rows are
 * in the given arena.
 *
 * A definition can also be in files, agents/NAME/agent.json and prompt.md: its
 * members override those of the row, and a change applies at the next use.
 */
#define AGENT_TEXT_MAX (1u << 20) /* bytes of a prompt, of a spec */

/* Applies the members of `def` to *row; a member that is null gets its default.
 * `what` names the definition in errors (ERR_INVALID). Settings that the driver
 * does not have are rejected (schema/definition.h), and so are secrets
 * (schema/secret.h). "default" sets is_default. */
int agent_from_json(struct agent_row *row, const char *what, const cJSON *def,
		    struct arena *a, struct err *e);

/* A definition as a user gave it: parsed, and its text if there is one, for the
 * line of an error. */
struct agent_text {
	const char *what; /* in errors: a file, or "the definition" */
	const cJSON *def;
	const char *text; /* or NULL */
};

/* definition_check for a change of *row. The error says what, and in which line
 * of the text. */
int agent_check_members(const struct agent_text *from,
			const struct agent_row *row, struct err *e);

/* The definition with its members in a fixed order, `spec` last. This text is
 * stored as a version and hashed. */
void agent_to_json(const struct agent_row *row, struct buf *out);

/* ERR_NOTFOUND names the agent and suggests a similar name. */
int agents_missing(struct sql *db, const char *name, struct err *e);
int agents_get(struct sql *db, const char *name, struct agent_row *row,
	       struct arena *a, struct err *e);
int agents_get_default(struct sql *db, struct agent_row *row, struct arena *a,
		       struct err *e); /* ERR_NOTFOUND if there is none */

/*
 * Stores a definition under row->name, from row->source "command" or "file".
 * Returns 1 if it created a version, with a row in the audit log, 0 if nothing
 * differs, or -1. Sets version, digest and times. With is_default, and always
 * for the first agent, it becomes the default agent.
 */
int agents_put(struct sql *db, struct agent_row *row, struct arena *a,
	       struct err *e);

int agents_set_default(struct sql *db, const char *name, struct err *e);

/* Deletes the definition; versions, file and registry row stay. */
int agents_remove(struct sql *db, const char *name, struct err *e);

/* Applies the files in agents/NAME/ to *row: returns 1, or 0 if there are
 * none. */
int agent_read_files(const struct home *home, const char *name,
		     struct agent_row *row, struct arena *a, struct err *e);

/* Updates the row from the files: returns 1 if it changed. Otherwise nothing is
 * written. */
int agents_sync(struct sql *db, const struct home *home, const char *name,
		struct err *e);

/* The same for each directory in agents/ that has an agent.json. Those with an
 * invalid name or content are skipped and listed in `bad`, one per line. */
int agents_sync_all(struct sql *db, const struct home *home, struct buf *bad,
		    struct err *e);

#endif
