#ifndef WORKER_DRIVER_MCP_SERVERS_H
#define WORKER_DRIVER_MCP_SERVERS_H

#include "worker/driver/headers.h"
#include "worker/process/command.h"

/*
 * The user's own MCP servers, as the definition of an agent names them:
 *
 *   "mcp_servers": {
 *     "git":  {"command": ["uvx", "mcp-server-git"], "env": {…}, "pass": […]},
 *     "docs": {"url": "https://host/mcp", "headers": {…}}
 *   }
 *
 * A command is started inside of the run's sandbox: by the agent (acp), or by the
 * worker (chat). "command", "shell", "env" and "pass" are as of exec, "headers"
 * as in headers.h.
 */
#define MCP_SERVERS_MAX 16

struct mcp_server {
	const char *name;        /* letters, digits, '-' and '_' */
	struct exec_config exec; /* .argv NULL: it has a url */
	char **own_env;  /* what "env" and "pass" add to it; NULL ends */
	const char *url; /* or NULL */
	struct headers headers;
};

struct mcp_servers {
	struct mcp_server *list;
	int n;
};

/* Of the driver's settings; all in a. exec.cwd is left to the caller. */
int mcp_servers_read(struct mcp_servers *s, const cJSON *config,
		     const struct msg_start *start, struct arena *a,
		     struct err *e);

#endif
