#ifndef WORKER_DRIVER_CHAT_MCP_HTTP_H
#define WORKER_DRIVER_CHAT_MCP_HTTP_H

#include "lib/json/jsonrpc.h"
#include "worker/driver/mcp_servers.h"
#include "worker/run/run.h"

/*
 * An MCP server over streamable HTTP: each message is a POST, its answer JSON or
 * a stream of events. The session id and the protocol version that the server
 * chose go along with every later request. Redirects are not followed: the
 * headers may hold secrets.
 */
struct mcp_http;

/* Borrows spec. */
int mcp_http_open(struct mcp_http **out, const struct mcp_server *spec,
		  struct err *e);

/* Ends the session on the server, waiting for it for half a second. NULL is
 * fine. */
void mcp_http_close(struct mcp_http *h, struct run *r);

/* Forgets the session: the next message begins another. */
void mcp_http_close_session(struct mcp_http *h);
void mcp_http_version(struct mcp_http *h, const char *version);

/*
 * Sends the messages that wait in rpc->out and feeds what comes back to rpc,
 * until the answer ends, *done is set, or `until` (clock_mono_ns). ERR_NOTFOUND:
 * the server does not know the session any more; ERR_TIMEOUT; ERR_UNAVAILABLE
 * with its words; ERR_CANCELED when the run ends.
 */
int mcp_http_send(struct mcp_http *h, struct run *r, struct rpc *rpc,
		  const bool *done, int64_t until, struct err *e);

#endif
