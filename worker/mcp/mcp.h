#ifndef WORKER_MCP_MCP_H
#define WORKER_MCP_MCP_H

#include "lib/json/jsonrpc.h"
#include "worker/workspace/files.h"

/*
 * A server of the Model Context Protocol on stdio with the files of a workspace
 * as its tools: most agents use neither fs/… nor terminals of their client, but
 * all support MCP servers. The agent starts it (skep-worker --mcp) in its own
 * namespace, so it sees what the agent sees. The chat driver has the same
 * tools, and may use other files with them.
 */
#define MCP_TEXT_MAX (4u << 20) /* of the answer of a tool */

struct run_socket_request;

/* A request to the supervisor, which may take long; see ipc/run_socket.h. */
typedef int mcp_request(void *arg, const struct run_socket_request *q,
			struct buf *out, struct err *e);

struct mcp {
	struct files *store; /* borrowed */
	/* for the tools that ask the supervisor; NULL: there are none. call_id
	 * identifies the call in all attempts of the run; NULL: nothing does */
	mcp_request *request;
	void *request_arg;
	const char *call_id;
	int permission_fd; /* socket of the worker that decides; -1: none */
	struct rpc rpc;
	struct buf out; /* output */
};

void mcp_init(struct mcp *m, struct files *store);
void mcp_fini(struct mcp *m);

/* Handles input of the agent; the answers are in m->out. */
int mcp_feed(struct mcp *m, const char *p, size_t n, struct err *e);

/* Serves stdio until its end; `permissions`: the socket of the worker that decides
 * about permissions, or NULL. Returns an exit status. */
int mcp_serve(const char *dir, const char *permissions);

/* ask_permission.c: asks before a tool is run, and waits for the answer.
 * ERR_DENIED is for the agent. */
int mcp_ask(int fd, const char *tool, const cJSON *args, struct err *e);

/* The table of tools, for other servers and drivers that offer them. */
struct mcp_about {
	const char *name;
	const char *text;
	const char *schema; /* JSON */
	bool changes;       /* files of the workspace, or other runs */
	bool asks;          /* the supervisor */
};

void mcp_each(void (*fn)(void *arg, const struct mcp_about *about), void *arg);

/* Checks the arguments and runs the tool, atomically if the files support that.
 * ERR_NOTFOUND: there is no such tool. */
int mcp_call(struct mcp *m, const char *name, const cJSON *args,
	     struct buf *out, struct err *e);

/* Adds the text for the agent to out. -1: the tool failed, and *e is for the
 * agent, which may try something else. */
typedef int mcp_tool(struct mcp *m, const cJSON *args, struct buf *out,
		     struct err *e);

#define TOOL(name, fn, changes, args, about) mcp_tool mcp_##fn;
#include "worker/mcp/tools.def"
#undef TOOL

#endif
