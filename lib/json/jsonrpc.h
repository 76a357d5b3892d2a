#ifndef LIB_JSON_JSONRPC_H
#define LIB_JSON_JSONRPC_H

#include "lib/json/json.h"
#include "lib/json/lines.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One side of JSON-RPC 2.0 in lines. Bytes go in by rpc_feed, which calls the
 * table's methods and the replies' functions; bytes to send are added to *out,
 * which the owner writes. It knows no descriptors, and never waits.
 *
 * What is sent is exact. What comes is taken as well as it can be: a method that
 * is not in the table is answered -32601 (a notification: left alone), members
 * that nobody knows are ignored, an id of a reply may be a text, and a line
 * that is no JSON-RPC goes to `noise`. A function that returns -1 ends rpc_feed
 * with its error: for what the owner cannot go on with.
 */
#define RPC_LINE_MAX (16u << 20)
#define RPC_CALLS    8 /* that wait for their reply */

enum rpc_code {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_AUTH = -32000,      /* ACP: log in first */
	RPC_NOT_FOUND = -32002, /* ACP: there is no such thing */
};

struct rpc;

/* A request, or with id NULL a notification. */
struct rpc_request {
	const char *id; /* as JSON */
	const cJSON *params;
};

struct rpc_method {
	const char *name;
	bool answers; /* a request; as a notification it is left alone */
	int (*take)(struct rpc *r, const struct rpc_request *ask,
		    struct err *e);
};

struct rpc_reply {
	const cJSON *result; /* NULL: refused, and the rest says why */
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
	int64_t last; /* id */
	struct {
		int64_t id; /* 0: free */
		rpc_then *then;
	} calls[RPC_CALLS];
};

void rpc_init(struct rpc *r, const struct rpc_method *methods, size_t n,
	      struct buf *out, void *owner);
void rpc_fini(struct rpc *r);

int rpc_feed(struct rpc *r, const char *p, size_t n, struct err *e);

/* Sends a request whose reply goes to `then`. `params` is JSON. ERR_FULL when
 * too many wait. */
int rpc_call(struct rpc *r, const char *method, const char *params,
	     rpc_then *then, struct err *e);
void rpc_notify(struct rpc *r, const char *method, const char *params);

/* No reply to an earlier request is expected any more. */
void rpc_forget(struct rpc *r);

/* One of these once for each request taken; `id` is rpc_ask.id, or a copy. */
void rpc_answer(struct rpc *r, const char *id, const char *result);
void rpc_refuse(struct rpc *r, const char *id, enum rpc_code code,
		const char *message);

#endif
