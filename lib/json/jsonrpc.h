#ifndef LIB_JSON_JSONRPC_H
#define LIB_JSON_JSONRPC_H

#include "lib/json/json.h"
#include "lib/json/lines.h"
#include "lib/json/rpc_scan.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One side of JSON-RPC 2.0 in lines. Bytes go in by rpc_feed, which calls the
 * table's methods and the replies' functions; bytes to send are added to *out,
 * which the owner writes. It uses no descriptors and never blocks.
 *
 * It writes strictly and reads leniently: a request with an unknown method gets
 * -32601 (such a notification is ignored), unknown members are ignored, the id
 * of a reply may be a string, and a line that is not JSON-RPC goes to `noise`.
 * A message over RPC_LINE_MAX goes there in pieces; its sender gets an error, or
 * the call that it replies to fails.
 * A function that returns -1 ends rpc_feed with its error, for failures that
 * the owner cannot handle.
 */
#define RPC_LINE_MAX (16u << 20)
#define RPC_CALLS    8 /* waiting for their replies */

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_AUTH = -32000,      /* ACP: log in first */
	RPC_NOT_FOUND = -32002, /* ACP: not found */
};

struct rpc;

/* A request, or with id NULL a notification. */
struct rpc_request {
	const char *id; /* as JSON */
	const cJSON *params;
};

struct rpc_method {
	const char *name;
	bool answers; /* it answers requests; a notification is ignored */
	int (*take)(struct rpc *r, const struct rpc_request *request,
		    struct err *e);
};

struct rpc_reply {
	const cJSON *result; /* NULL: an error, see the other members */
	int64_t code;
	const char *message;
	const cJSON *data;
};

typedef int rpc_then(struct rpc *r, const struct rpc_reply *reply,
		     struct err *e);

struct rpc {
	const struct rpc_method *methods; /* borrowed */
	size_t nmethods;
	void *owner;
	int (*noise)(struct rpc *r, const char *p, size_t n, struct err *e);
	struct buf *out; /* borrowed */
	struct lines lines;
	struct rpc_scan scan; /* of a message over the limit */
	int64_t last;         /* id */
	struct {
		int64_t id; /* 0: free */
		rpc_then *then;
	} calls[RPC_CALLS];
};

void rpc_init(struct rpc *r, const struct rpc_method *methods, size_t n,
	      struct buf *out, void *owner);
void rpc_fini(struct rpc *r);

int rpc_feed(struct rpc *r, const char *p, size_t n, struct err *e);

/* Sends a request whose reply goes to `then`. `params` is JSON. ERR_FULL if too
 * many requests wait. */
int rpc_call(struct rpc *r, const char *method, const char *params,
	     rpc_then *then, struct err *e);
void rpc_notify(struct rpc *r, const char *method, const char *params);

/* Replies to earlier requests are ignored from now on. */
void rpc_forget(struct rpc *r);

/* Call one of these once for each request; `id` is rpc_ask.id or a copy. */
void rpc_answer(struct rpc *r, const char *id, const char *result);
void rpc_refuse(struct rpc *r, const char *id, enum rpc_code code,
		const char *message);

#endif
