#ifndef SCHEMA_DEFINITION_H
#define SCHEMA_DEFINITION_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

/*
 * What the definition of an agent may contain (schema/definition.def). A
 * definition is checked when it is stored; the worker checks "config" again.
 * The table, its texts and everything that points into it are constants.
 */
#define AGENT_DRIVERS    "script|exec|acp|chat"
#define AGENT_WORKSPACES "disk|vfs-scratch|vfs-only"
#define DEFINITION_MAX   9007199254740991 /* 2^53 - 1 */
#define DEFINITION_PATH  128              /* bytes of the path of a member */

enum definition_kind {
	DEFINITION_text,
	DEFINITION_word,
	DEFINITION_url,
	DEFINITION_path,
	DEFINITION_bool,
	DEFINITION_int,
	DEFINITION_number,
	DEFINITION_bytes,
	DEFINITION_list,
	DEFINITION_strings,
	DEFINITION_paths,
	DEFINITION_object,
	DEFINITION_texts,
	DEFINITION_texts_or_refs,
	DEFINITION_text_or_object,
	DEFINITION_any,
};

struct definition_member {
	const char *path;    /* "config.stdin"; "*" is any name */
	const char *drivers; /* "exec acp", "" for all */
	enum definition_kind kind;
	double min, max;
	const char *words;
	const char *other; /* the default as text, "" if there is none */
	const char *help;
};

extern const struct definition_member definition_members[]; /* ends with a NULL
							     * path */

/* The row of a path ("config.env.LANG" has none, "config.mcp_servers.x.url"
 * does), for this driver or, if it is NULL, for any; or NULL. */
const struct definition_member *definition_find(const char *path,
						const char *driver);

/* Whether the row belongs to the driver; NULL stands for any. */
bool definition_applies(const struct definition_member *m, const char *driver);

/* Whether the row is a direct member of `path`, "" for the definition. */
bool definition_is_inside(const struct definition_member *m, const char *path);

/* "one of a|b|c", "a whole number from 0 to 1000". */
void definition_add_kind(struct buf *b, const struct definition_member *m);

/*
 * Checks names and values at all levels. ERR_INVALID names the first member
 * that is unknown (and suggests a known one) or has an invalid value (and says
 * what is valid); `where` becomes its path. `driver` may be NULL: config is then
 * not checked. null is accepted, except in config: it removes a member. Unknown
 * members of the definition that `stored` has too, a spec or NULL, are
 * accepted: earlier versions accepted any name.
 */
int definition_check(const cJSON *def, const char *driver, const cJSON *stored,
		     char where[DEFINITION_PATH], struct err *e);

/* The same for the member config alone. */
int definition_check_config(const char *driver, const cJSON *config,
			    struct err *e);

/* The same for the names inside a member, such as "children". */
int definition_check_names(const char *path, const cJSON *obj, struct err *e);

/* ERR_INVALID if the driver lacks something that it needs; the definition is
 * complete, with config inside. */
int definition_check_needs(const char *agent, const cJSON *def, struct err *e);

/* The JSON schema (2020-12), and the table of members in Markdown. */
void definition_schema(struct buf *out);
void definition_document(struct buf *out);

#endif
