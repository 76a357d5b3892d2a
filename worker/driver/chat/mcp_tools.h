#ifndef WORKER_DRIVER_CHAT_MCP_TOOLS_H
#define WORKER_DRIVER_CHAT_MCP_TOOLS_H

#include "worker/driver/mcp_servers.h"
#include "worker/run/run.h"

/*
 * The user's MCP servers as tools of the chat driver. A server is a command in
 * the sandbox of the run, from the first request to the end of the run, or has
 * a url to which the worker connects; its tools are named SERVER__TOOL. A
 * server that cannot be started, or dies, is recorded in the transcript and is
 * an error for the model; the run continues without it.
 */
struct chat_mcp_tool {
	const char *name; /* SERVER__TOOL, as accepted by servers of models */
	const char *bare; /* name in the MCP server */
	const char *about;
	const char *schema; /* JSON */
	bool reads;         /* declared as read-only */
};

struct chat_mcp; /* NULL: there are none */

int chat_mcp_open(struct chat_mcp **out, struct run *r,
		  const struct mcp_servers *servers, int64_t timeout_ms,
		  struct err *e);
void chat_mcp_close(struct chat_mcp *m);

/* The n-th tool, or NULL. */
const struct chat_mcp_tool *chat_mcp_nth(const struct chat_mcp *m, int n);
const struct chat_mcp_tool *chat_mcp_find(const struct chat_mcp *m,
					  const char *name);

/* 0: text is the result, of a tool that failed if *failed; -1 with ERR_CANCELED
 * when the run ends, else *e is the result. */
int chat_mcp_call(struct chat_mcp *m, const struct chat_mcp_tool *tool,
		  const cJSON *args, struct buf *text, bool *failed,
		  struct err *e);

#endif
