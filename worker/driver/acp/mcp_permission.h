#ifndef WORKER_DRIVER_ACP_MCP_PERMISSION_H
#define WORKER_DRIVER_ACP_MCP_PERMISSION_H

#include "lib/base/err.h"
#include "worker/driver/acp/acp.h"

/*
 * The worker's end of the workspace's MCP server (worker/mcp/mcp.h), which the
 * agent starts in the sandbox. Before it runs a tool, the server asks through a
 * socket beside the agent file, with one line of JSON in each direction:
 *
 *   {"tool":"write_file","kind":"edit","paths":["a"],"input":{…}}
 *   {"allow":true}   {"allow":false,"why":"…"}
 *
 * The rules of the definition decide, or a user does.
 */
/* Call it before the sandbox is made, so that the socket is visible in it. */
int acp_mcp_open(struct acp *x, struct err *e);
void acp_mcp_close(struct acp *x);

/* Accepts connections and reads their requests. */
int acp_mcp_poll(struct acp *x, struct err *e);

/* Answers the peer that asked; it may have disconnected. */
void acp_mcp_answer(struct acp *x, int64_t peer, bool allow, const char *why);

#endif
