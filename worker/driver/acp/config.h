#ifndef WORKER_DRIVER_ACP_CONFIG_H
#define WORKER_DRIVER_ACP_CONFIG_H

#include "worker/driver/mcp_servers.h"
#include "worker/driver/permission.h"
#include "worker/process/command.h"

/*
 * The configuration of the acp driver:
 *
 *   "command", "shell", "env", "pass"   as for exec: how the agent is started
 *   "mode":    "plan"                   session/set_mode, if it differs
 *   "options": {"model": "x", …}        session/set_config_option, in order
 *   "auth":    "method"                 authenticate with this method first
 *   "permissions": {…}                  rules: worker/driver/permission.h
 *   "ask_timeout_ms": 60000             an unanswered question is denied after
 *                                       this time (default: never)
 *   "idle_ms": 60000                    how long the agent is kept after its
 *                                       run, for the session's next one
 *   "mcp": false                        do not offer the MCP server of the
 *                                       workspace
 *   "mcp_servers": {…}                  of the user: worker/driver/mcp_servers.h
 */
struct acp_option {
	const char *id;
	const char *value; /* JSON: a string, true or false */
};

struct acp_config {
	struct exec_config exec;
	const char *mode;
	const char *auth;
	struct acp_option *options;
	int noptions;
	struct permissions permissions;
	struct mcp_servers servers;
	bool ruled;             /* the definition has permissions */
	int64_t idle_ms;        /* 0: the agent ends with its run */
	bool mcp;               /* offer the workspace as an MCP server */
	int64_t ask_timeout_ms; /* OPT_NONE: none */
};

/* As exec_config_read. */
int acp_config_read(struct acp_config *c, const struct msg_start *s,
		    const char *cwd, struct arena *a, struct err *e);

/* The login method for an API key, if the agent is given one: an id of
 * authMethods, or NULL. For an agent that requires a login when "auth" is not
 * set. */
const char *acp_key_login(const struct acp_config *c, const cJSON *methods);

#endif
