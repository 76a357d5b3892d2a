#ifndef WORKER_DRIVER_CHAT_CONFIG_H
#define WORKER_DRIVER_CHAT_CONFIG_H

#include "ipc/start_message.h"
#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "schema/price.h"
#include "worker/driver/headers.h"
#include "worker/driver/mcp_servers.h"
#include "worker/driver/permission.h"

/*
 * The configuration of the chat driver:
 *
 *   "endpoint": "https://host/v1"     the base of an OpenAI-compatible server
 *   "api":      "chat" | "responses"  chat completions, or the Responses API
 *   "model":    "name"                overrides that of the agent
 *   "fallback": ["name", …]           models that are asked if it hangs or fails
 *   "key_file": "name"                in credentials/, or an absolute path;
 *                                     only its owner may read it
 *   "key_env":  "NAME"                of the supervisor's environment
 *   "headers":  {"X-Title": "skep"}   added to each request: worker/driver/headers.h
 *   "images":   false                 pictures are only named, not sent
 *   "files":    false                 the same for PDF documents and sound
 *   "params":   {"temperature": 0}    added to each request unchanged
 *   "tools":    ["read_file", …]      of worker/driver/chat/tools.def; absent: all
 *   "exec":     true                  also the tool exec, in the sandbox
 *   "mcp_servers": {…}                worker/driver/mcp_servers.h
 *   "permissions": …                  worker/driver/permission.h
 *   "price":    {"input": 1.25, "cached": 0.1, "output": 10}
 *                                     dollars per million tokens; absent: of
 *                                     schema/price.h
 *   and the limits of limits.def
 */
struct chat_limits {
#define LIMIT(name, other, help) int64_t name;
#include "worker/driver/chat/limits.def"
#undef LIMIT
};

/* A model, with its price and the source of its reasoning. */
struct chat_model {
	const char *name, *from;
	struct model_price price;
};

#define CHAT_FALLBACKS 8

struct chat_config {
	const char *url;
	const char *from; /* api, host and model: the source of reasoning */
	const char *model;
	const char *system; /* or NULL */
	const char *params; /* JSON object, or NULL */
	char *key;          /* or NULL; chat_config_clear wipes it */
	const char **tools; /* NULL: all */
	int ntools;
	struct headers headers;
	struct mcp_servers servers;
	bool responses;
	bool images, files;
	bool exec;
	bool ruled; /* the definition has permissions */
	struct permissions permissions;
	struct chat_limits limits;
	struct chat_model fallbacks[CHAT_FALLBACKS];
	int nfallbacks; /* not asked yet */
	double price_input, price_cached, price_output, max_cost;
};

/* Everything except the key is in a. ERR_INVALID names the invalid member. */
int chat_config_read(struct chat_config *c, const struct msg_start *s,
		     struct arena *a, struct err *e);
/* Continues with the next model: its name, or NULL if there is none. */
const char *chat_config_fall_back(struct chat_config *c);
void chat_config_clear(struct chat_config *c);

#endif
