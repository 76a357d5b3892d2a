#ifndef LIB_SANDBOX_SPEC_H
#define LIB_SANDBOX_SPEC_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The members of an agent's definition that configure its sandbox. A plugin has
 * the same members among its settings:
 *
 *   "sandbox": "on"        no run without namespaces; other missing parts are
 *                          reported
 *              "partial"   what the machine supports; missing parts are reported
 *              "required"  no run unless all requested parts are available
 *              "off"       no sandbox
 *   "network": "none"      a private loopback interface (also "loopback")
 *              "host"      the network of the machine, for commands
 *   "limits":  {"memory": "512M", …}            lib/sandbox/limits.def
 *   "paths":   {"read": ["/data"], "write": ["/var/cache/x"]}
 *                          directories and files besides the workspace. Without
 *                          "read", commands may read the host, except skep's
 *                          home and lib/sandbox/hidden.def; with it, only these
 *                          and the directories of programs
 */
#define SANDBOX_MODES    "off|on|partial|required"
#define SANDBOX_NETWORKS "host|loopback|none"
#define SANDBOX_PATHS    64 /* of a kind, at most */

/* In the order of SANDBOX_MODES. */
enum sandbox_mode {
	SANDBOX_OFF,
	SANDBOX_ON,
	SANDBOX_PARTIAL,
	SANDBOX_REQUIRED
};
enum sandbox_network { NETWORK_HOST, NETWORK_LOOPBACK, NETWORK_NONE };

struct sandbox_paths {
	const char *path[SANDBOX_PATHS];
	int n;
};

struct sandbox_limits { /* 0: none */
#define LIMIT(name, kind, other, least, help) int64_t name;
#include "lib/sandbox/limits.def"
#undef LIMIT
	/* Set by the definition; a default is enforced if possible. */
	bool pids_set, memory_set;
};

struct sandbox_spec {
	enum sandbox_mode mode;
	enum sandbox_network network;
	struct sandbox_limits limits;
	struct sandbox_paths read, write;
};

/* Reads the four members of a definition; others are ignored, missing ones have
 * their defaults. Texts are allocated in a. ERR_INVALID names the invalid
 * member. */
int sandbox_spec_read(struct sandbox_spec *s, const cJSON *definition,
		      struct arena *a, struct err *e);

/* The same from the settings of a plugin. A plugin connects to its platform, so
 * its default network is the host's. It has no limits.disk and limits.runs. */
int sandbox_spec_read_plugin(struct sandbox_spec *s, const cJSON *settings,
			     struct arena *a, struct err *e);

/* The existing members, as one JSON object for the worker. */
void sandbox_spec_copy(const cJSON *definition, struct buf *out);

#endif
