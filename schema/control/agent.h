#ifndef SCHEMA_CONTROL_AGENT_H
#define SCHEMA_CONTROL_AGENT_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "lib/json/json.h"
#include "schema/control_queries.h"
#include "schema/home.h"

/*
 * Agents: who works. A definition is a JSON object; the members that rows are
 * looked up by are columns (driver, workspace, model, prompt, enabled), the
 * others stay as they are in `spec`. Every change makes a version, and a run
 * names the version it used. Which agent is the default is no part of that.
 * Rows are filled from the arena given.
 *
 * A definition can also lie in files, agents/NAME/agent.json and prompt.md: a
 * file wins over the row for what it says, and an edit is seen at the next use.
 */
#define AGENT_DRIVERS    "script|exec|acp|chat"
#define AGENT_WORKSPACES "disk|vfs-scratch|vfs-only"
#define AGENT_TEXT_MAX   (1u << 20) /* bytes of a prompt, of a spec */

/* Puts the members of `def` over *row; a member that is null goes back to its
 * default. `what` is named in errors (ERR_INVALID). Settings that the driver does
 * not have are rejected (schema/driver_config.h). Secrets do not belong in a
 * database: they are refused (schema/secret.h). "default" sets is_default. */
int agent_from_json(struct agent_row *row, const char *what, const cJSON *def,
		    struct arena *a, struct err *e);

/* ERR_INVALID names the first member of `def` that no definition has
 * (schema/control/agent_member.def) and what was probably meant. null is
 * accepted: it removes a member. So are members of `stored`, a spec or NULL:
 * versions before this check accepted any name. */
int agent_check_members(const char *what, const cJSON *def, const char *stored,
			struct err *e);

/* The definition, members in a fixed order, `spec` last: what is stored as a
 * version and hashed. */
void agent_to_json(const struct agent_row *row, struct buf *out);

/* ERR_NOTFOUND names the agent, and the one that was probably meant. */
int agents_missing(struct sql *db, const char *name, struct err *e);
int agents_get(struct sql *db, const char *name, struct agent_row *row,
	       struct arena *a, struct err *e);
int agents_get_default(struct sql *db, struct agent_row *row, struct arena *a,
		       struct err *e); /* ERR_NOTFOUND if there is none */

/*
 * Stores a definition under row->name, from row->source "command" or "file".
 * 1: a new version was made, with a row in the audit log; 0: nothing differs;
 * -1. Fills version, digest and times. With is_default, and always for the first
 * agent, it becomes the default one.
 */
int agents_put(struct sql *db, struct agent_row *row, struct arena *a,
	       struct err *e);

int agents_set_default(struct sql *db, const char *name, struct err *e);

/* The definition goes; versions, file and registry row stay. */
int agents_remove(struct sql *db, const char *name, struct err *e);

/* Puts what agents/NAME/ says over *row: 1, or 0 if there are no such files. */
int agent_read_files(const struct home *home, const char *name,
		     struct agent_row *row, struct arena *a, struct err *e);

/* Makes the row fit the files: 1 if it changed. Nothing is written if not. */
int agents_sync(struct sql *db, const struct home *home, const char *name,
		struct err *e);

/* The same for each directory in agents/ that has an agent.json; those whose
 * name or content is wrong are named in `bad`, a line each, and passed over. */
int agents_sync_all(struct sql *db, const struct home *home, struct buf *bad,
		    struct err *e);

#endif
