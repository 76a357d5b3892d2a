#ifndef SCHEMA_CONTROL_AGENT_BUNDLE_H
#define SCHEMA_CONTROL_AGENT_BUNDLE_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "lib/json/json.h"
#include "schema/control_queries.h"
#include "schema/home.h"

/*
 * An agent as one unit: what the control plane has about it, as JSON, and the
 * directory with its file and its workspace. ops/agent exports and imports it.
 *
 *   {"format":1, "name":…, "definition":{…}, "versions":[…], "bindings":[…],
 *    "schedules":[…]}
 *
 * The definition contains what is set in agent.json and prompt.md. Bindings go to
 * the table `held`, where they wait for `skep agent confirm`. Schedules are held in
 * their own table. Runs are not part of it; their
 * transcripts are in the agent file.
 */
#define AGENT_BUNDLE_FILE   "export.json"
#define AGENT_BUNDLE_FORMAT 1
#define AGENT_BUNDLE_MAX    (64u << 20)

/* Appends the document of an agent; ERR_NOTFOUND. */
int agent_bundle_write(struct sql *db, const struct home *home,
		       const char *name, struct buf *out, struct err *e);

/* Reads a document: the caller frees it. NULL: ERR_INVALID, or ERR_VERSION for
 * the format of a newer program. */
cJSON *agent_bundle_parse(const char *what, const char *text, size_t n,
			  struct err *e);

/* Adds the names of credential files and variables that a definition refers to,
 * each once, to two arrays. */
void agent_bundle_secrets(const cJSON *definition, cJSON *files, cJSON *vars);

/* ERR_CONFLICT if there is an agent, a file or a directory of this name. */
int agent_bundle_check_name(struct sql *db, const struct home *home,
			    const char *name, struct err *e);

/*
 * Makes the directory `dir` the agent `name`, in a transaction: adds its rows
 * and moves the directory to its place, where its file has this owner already.
 * The document in it stays until agent_bundle_done, so that a directory that a
 * killed import left behind is recognized and replaced by the next one. If the
 * transaction of the caller fails, call agent_bundle_undo.
 */
int agent_bundle_import(struct sql *db, const struct home *home,
			const char *name, const char *dir, struct arena *a,
			struct err *e);
void agent_bundle_undo(const struct home *home, const char *name,
		       const char *dir);
void agent_bundle_done(const struct home *home, const char *name);

/* Is this the directory of an import that was killed? */
bool agent_bundle_is_left(const struct home *home, const char *name);

#endif
