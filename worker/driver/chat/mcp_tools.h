#ifndef WORKER_DRIVER_CHAT_MCP_TOOLS_H
#define WORKER_DRIVER_CHAT_MCP_TOOLS_H

#include "worker/driver/mcp_servers.h"
#include "worker/run/run.h"

/*
 * The user's MCP servers as tools of the chat driver. Each server is a command
 * inside of the run's sandbox, from the first request to the end of the run, or
 * has a url, which the worker connects to; its tools are named SERVER__TOOL. A
 * server that cannot be started, or dies, is a note in the transcript and an
 * error for the model; the run goes on without.
 */
struct chat_mcp_tool {
	const char *name; /* SERVER__TOOL, as a server of models takes it */
	const char *bare; /* as the MCP server has it */
	const char *about;
	const char *schema; /* JSON */
	bool reads;         /* it says that it changes nothing */
};

struct chat_mcp; /* NULL: there are none */

int chat_mcp_open(struct chat_mcp **out, struct run *r,
		  const struct mcp_servers *servers, int64_t timeout_ms,
		  struct err *e);
void chat_mcp_close(struct chat_mcp *m);

/* The n-th tool; NULL: there is none. */
const struct chat_mcp_tool *chat_mcp_nth(const struct chat_mcp *m, int n);
const struct chat_mcp_tool *chat_mcp_find(const struct chat_mcp *m,
					  const char *name);

/* 0: text is the result; -1 with ERR_CANCELED when the run ends, else *e is the
 * result. */
int chat_mcp_call(struct chat_mcp *m, const struct chat_mcp_tool *tool,
		  const cJSON *args, struct buf *text, struct err *e);

#endif
