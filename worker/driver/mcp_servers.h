#ifndef WORKER_DRIVER_MCP_SERVERS_H
#define WORKER_DRIVER_MCP_SERVERS_H

#include "worker/driver/headers.h"
#include "worker/process/command.h"

/*
 * The MCP servers in the definition of an agent:
 *
 *   "mcp_servers": {
 *     "git":  {"command": ["uvx", "mcp-server-git"], "env": {…}, "pass": […]},
 *     "docs": {"url": "https://host/mcp", "headers": {…}}
 *   }
 *
 * A command is started in the sandbox of the run: by the agent (acp), or by the
 * worker (chat). "command", "shell", "env" and "pass" are as for exec,
 * "headers" as in headers.h.
 */
#define MCP_SERVERS_MAX 16

struct mcp_server {
	const char *name;        /* letters, digits, '-' and '_' */
	struct exec_config exec; /* .argv NULL: it has a url */
	char **own_env;          /* added by "env" and "pass"; ends with NULL */
	const char *url;         /* or NULL */
	struct headers headers;
};

struct mcp_servers {
	struct mcp_server *list;
	int n;
};

/* Reads the settings of the driver; everything is in a. The caller sets
 * exec.cwd. */
int mcp_servers_read(struct mcp_servers *s, const cJSON *config,
		     const struct msg_start *start, struct arena *a,
		     struct err *e);

#endif
