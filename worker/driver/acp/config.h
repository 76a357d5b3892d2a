#ifndef WORKER_DRIVER_ACP_CONFIG_H
#define WORKER_DRIVER_ACP_CONFIG_H

#include "worker/driver/mcp_servers.h"
#include "worker/driver/permission.h"
#include "worker/process/command.h"

/*
 * The configuration of the acp driver:
 *
 *   "command", "shell", "env", "pass"   as of exec: how the agent is started
 *   "mode":    "plan"                   session/set_mode, if it is another
 *   "options": {"model": "x", …}        session/set_config_option, in order
 *   "auth":    "method"                 authenticate with this before anything
 *   "permissions": {…}                  rules: worker/driver/permission.h
 *   "ask_timeout_ms": 60000             a question that nobody answers for so
 *                                       long is denied (it waits for ever)
 *   "idle_ms": 60000                    after its run the agent is kept for so
 *                                       long, for the session's next one
 *   "mcp": false                        the workspace's MCP server is not
 *                                       offered
 *   "mcp_servers": {…}                  the user's own: worker/driver/mcp_servers.h
 */
struct acp_option {
	const char *id;
	const char *value; /* JSON: a text or true, false */
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

/* The agent's login with an API key, if the agent is given one: a method's id out
 * of authMethods, or NULL. For an agent that wants a login when "auth" is not
 * set. */
const char *acp_key_login(const struct acp_config *c, const cJSON *methods);

#endif
