#ifndef WORKER_MCP_H
#define WORKER_MCP_H

#include "worker/below.h"
#include "worker/jsonrpc.h"

/*
 * A server of the Model Context Protocol on stdio with the files of a
 * workspace as its tools: most agents use neither fs/… nor terminals of their
 * client, but all take MCP servers. The agent starts it (skep-worker --mcp), in
 * its own namespace, so it sees what the agent sees; it works on the directory
 * alone, and for snapshots on the mount that it is.
 */
#define MCP_TEXT_MAX (4u << 20) /* of a tool's answer */

struct mcp {
	struct below below;
	struct rpc rpc;
	struct buf out; /* to be written */
};

void mcp_init(struct mcp *m, const char *dir, int fd);
void mcp_fini(struct mcp *m); /* closes fd */

/* Takes what came from the agent; the answers are in m->out. */
int mcp_feed(struct mcp *m, const char *p, size_t n, struct err *e);

/* Serves stdio until its end. Returns an exit status. */
int mcp_serve(const char *dir);

/* The table of tools, for others that offer the same ones. */
struct mcp_about {
	const char *name;
	const char *text;
	const char *schema; /* JSON */
};

void mcp_each(void (*fn)(void *arg, const struct mcp_about *about), void *arg);

/* Checks the arguments and does it. ERR_NOTFOUND: there is no such tool. */
int mcp_call(struct mcp *m, const char *name, const cJSON *args,
	     struct buf *out, struct err *e);

/* Text for the agent is added to out. -1: the tool failed, *e is for the agent,
 * who may try something else. */
typedef int mcp_tool(struct mcp *m, const cJSON *args, struct buf *out,
		     struct err *e);

#define TOOL(name, fn, args, about) mcp_tool mcp_##fn;
#include "worker/mcp_tools.def"
#undef TOOL

#endif
