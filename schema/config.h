#ifndef SCHEMA_CONFIG_H
#define SCHEMA_CONFIG_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdint.h>

/*
 * skep.json: the configuration file, read before any database is opened. If it
 * is missing, the defaults apply. A syntax error is reported with line and
 * column; a value of the wrong kind names its key; an unknown key is kept as a
 * warning. The table is config.def.
 */
typedef int64_t config_int;
typedef bool config_bool;
typedef const char *config_text;
typedef int64_t config_millis;
typedef int64_t config_bytes;

struct config {
#define CONFIG(section, key, kind, def, min, max, values, help) \
	config_##kind section##_##key;
#include "schema/config.def"
#undef CONFIG
	struct arena arena;  /* owns texts */
	struct buf warnings; /* one per line */
	bool from_file;
};

void config_defaults(struct config *c);
int config_load(struct config *c, const char *path, struct err *e);
int config_parse(struct config *c, const char *what, const char *text, size_t n,
		 struct err *e);
void config_fini(struct config *c);

/* ERR_USAGE, with a suggestion, unless "section.key" is a key. */
int config_check_key(const char *key, struct err *e);

/* The effective values, as JSON with sections; and the JSON schema. */
void config_show(const struct config *c, struct buf *out);
void config_schema(struct buf *out);

#endif
