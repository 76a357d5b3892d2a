#ifndef WORKER_DRIVER_CHAT_MCP_HTTP_H
#define WORKER_DRIVER_CHAT_MCP_HTTP_H

#include "lib/json/jsonrpc.h"
#include "worker/driver/mcp_servers.h"
#include "worker/run/run.h"

/*
 * An MCP server over streamable HTTP: each message is a POST; its answer is
 * JSON or a stream of events. Every later request contains the session id and
 * the protocol version that the server chose. Redirects are not followed, since
 * the headers may contain secrets.
 */
struct mcp_http;

/* Borrows spec. */
int mcp_http_open(struct mcp_http **out, const struct mcp_server *spec,
		  struct err *e);

/* Ends the session on the server; waits for at most half a second. Accepts
 * NULL. */
void mcp_http_close(struct mcp_http *h, struct run *r);

/* Drops the session: the next message starts another. */
void mcp_http_close_session(struct mcp_http *h);
void mcp_http_version(struct mcp_http *h, const char *version);

/*
 * Sends the messages in rpc->out and feeds the answers to rpc, until the answer
 * ends, *done is set, or `until` (clock_mono_ns). ERR_NOTFOUND: the server no
 * longer has the session; ERR_TIMEOUT; ERR_UNAVAILABLE with its text;
 * ERR_CANCELED if the run ends.
 */
int mcp_http_send(struct mcp_http *h, struct run *r, struct rpc *rpc,
		  const bool *done, int64_t until, struct err *e);

#endif
