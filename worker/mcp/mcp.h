#ifndef WORKER_MCP_MCP_H
#define WORKER_MCP_MCP_H

#include "lib/json/jsonrpc.h"
#include "worker/workspace/files.h"

/*
 * A server of the Model Context Protocol on stdio with the files of a
 * workspace as its tools: most agents use neither fs/… nor terminals of their
 * client, but all take MCP servers. The agent starts it (skep-worker --mcp), in
 * its own namespace, so it sees what the agent sees. The chat driver has the same
 * tools, and may give them another store.
 */
#define MCP_TEXT_MAX (4u << 20) /* of a tool's answer */

struct mcp {
	struct files *store; /* borrowed */
	int ask;             /* socket of the worker that decides; -1: none */
	struct rpc rpc;
	struct buf out; /* to be written */
};

void mcp_init(struct mcp *m, struct files *store);
void mcp_fini(struct mcp *m);

/* Takes what came from the agent; the answers are in m->out. */
int mcp_feed(struct mcp *m, const char *p, size_t n, struct err *e);

/* Serves stdio until its end; `ask` is the socket of the worker that decides
 * what is permitted, or NULL. Returns an exit status. */
int mcp_serve(const char *dir, const char *ask);

/* ask_permission.c: connects to the worker; -1 with errno. Then asks before a
 * tool is run, and waits for the answer. ERR_DENIED is for the agent. */
int mcp_ask_open(const char *path);
int mcp_ask(int fd, const char *tool, const cJSON *args, struct err *e);

/* The table of tools, for others that offer the same ones. */
struct mcp_about {
	const char *name;
	const char *text;
	const char *schema; /* JSON */
	bool changes;       /* files of the workspace */
};

void mcp_each(void (*fn)(void *arg, const struct mcp_about *about), void *arg);

/* Checks the arguments and does it, all or nothing where the store can do that.
 * ERR_NOTFOUND: there is no such tool. */
int mcp_call(struct mcp *m, const char *name, const cJSON *args,
	     struct buf *out, struct err *e);

/* Text for the agent is added to out. -1: the tool failed, *e is for the agent,
 * who may try something else. */
typedef int mcp_tool(struct mcp *m, const cJSON *args, struct buf *out,
		     struct err *e);

#define TOOL(name, fn, changes, args, about) mcp_tool mcp_##fn;
#include "worker/mcp/tools.def"
#undef TOOL

#endif
