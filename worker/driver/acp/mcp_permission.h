#ifndef WORKER_DRIVER_ACP_MCP_PERMISSION_H
#define WORKER_DRIVER_ACP_MCP_PERMISSION_H

#include "lib/base/err.h"
#include "worker/driver/acp/acp.h"

/*
 * The worker's end of the workspace's MCP server (worker/mcp/mcp.h), which the
 * agent starts in the sandbox. Before a tool runs, the server asks here, by a
 * socket beside the agent's file, a line of JSON each way:
 *
 *   {"tool":"write_file","kind":"edit","paths":["a"],"input":{…}}
 *   {"allow":true}   {"allow":false,"why":"…"}
 *
 * The rules of the definition decide, or a person does.
 */
/* Before the sandbox is made: the socket has to be seen in it. */
int acp_mcp_open(struct acp *x, struct err *e);
void acp_mcp_close(struct acp *x);

/* Takes new connections and what they ask. */
int acp_mcp_poll(struct acp *x, struct err *e);

/* The answer to the peer that asked; it may be gone. */
void acp_mcp_answer(struct acp *x, int64_t peer, bool allow, const char *why);

#endif
