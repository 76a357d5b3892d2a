#ifndef SCHEMA_CONTROL_CHANNEL_CHANNEL_H
#define SCHEMA_CONTROL_CHANNEL_CHANNEL_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/db/sql.h"
#include "lib/json/json.h"
#include "schema/control_queries.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Channels, bindings and conversations. Texts of rows are in the given arena;
 * functions that write run in the transaction of the caller.
 */
#define CHANNEL_KINDS      "file|webhook|smtp|pull|plugin"
#define CHANNEL_CONFIG_MAX (64u << 10)
#define CHANNEL_KEY_MAX \
	512 /* bytes of a peer, a sender, an id of a
			        * platform */

typedef const char *setting_text;
typedef const char *setting_word;
typedef int64_t setting_int;
typedef int64_t setting_millis;
typedef int64_t setting_bytes;

struct channel_config {
#define SETTING(name, type, def, min, max, words, kinds, help) \
	setting_##type name;
#include "schema/control/channel/channel_setting.def"
#undef SETTING
};

/* Reads the JSON of a channel of this kind; ERR_INVALID names the member. */
int channel_config_read(struct channel_config *c, const char *kind,
			const char *json, struct arena *a, struct err *e);

/* ERR_INVALID if a setting or a word of the command looks like a secret, since
 * both are shown. Either may be NULL. The same for a URL with a user name. */
int channel_check_secrets(const cJSON *config, const cJSON *command,
			  struct err *e);
int channel_check_url(const char *what, const char *url, struct err *e);

/* Returns one of CHANNEL_KINDS; also accepts former names. */
const char *channel_kind(const char *word);

/* {"kind", "enabled", "command", "config"}: creates the channel, or changes the
 * given members of an existing one. The kind of a channel cannot change. */
int channels_put(struct sql *db, const char *name, const cJSON *def,
		 const char *by, struct err *e);
int channels_get(struct sql *db, const char *name, struct channel_row *row,
		 struct arena *a, struct err *e); /* ERR_NOTFOUND names it */
/* Deletes everything at once, for callers that serve no other requests
 * (schema/control/channel/channel_delete.h). */
int channels_remove(struct sql *db, const char *name, const char *by,
		    struct err *e);

/* Creates owner, default agent and default channel of a new home, once. */
int channels_seed(struct sql *db, struct err *e);

/* A sender and its conversation. */
struct conversation_key {
	const char *channel;
	const char *peer;   /* name of the conversation on the platform */
	const char *sender; /* "" for outgoing messages */
	const char *kind;   /* direct, group */
	const char *title;  /* or NULL */
	const char *agent;  /* from the configuration of the channel, or "" */
};

/* The row of the conversation; created if it does not exist, and bound by
 * bindings, the agent of the channel, or the default agent. row->agent NULL: no
 * agent answers. */
int conversation_open(struct sql *db, const struct conversation_key *t,
		      int64_t now, struct conversation_row *row,
		      struct arena *a, struct err *e);

/* Binds a peer ("*": all) to an agent, also if a conversation exists. */
int binding_set(struct sql *db, const struct binding_row *b, const char *by,
		struct err *e);

#endif
