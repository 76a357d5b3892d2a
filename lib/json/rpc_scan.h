#ifndef LIB_JSON_RPC_SCAN_H
#define LIB_JSON_RPC_SCAN_H

#include "lib/json/rpc_line.h"

#include <stdbool.h>

/*
 * Finds the id of a JSON-RPC message that is too long to be kept, so that its
 * sender gets an error and does not wait. The bytes come in pieces. Nothing is
 * allocated.
 */
struct rpc_scan {
	int depth; /* of objects and lists */
	bool in_string, escaped;
	bool in_value; /* of a member of the message */
	bool is_id;    /* this member */
	bool has_id;   /* complete */
	bool has_method;
	char key[16]; /* of this member, with quotes */
	size_t nkey;
	char id[RPC_ID_MAX];
	size_t nid;
};

void rpc_scan_add(struct rpc_scan *s, const char *p, size_t n);

/* The id as JSON text, a string or a number; NULL: there is none. */
const char *rpc_scan_id(const struct rpc_scan *s);

#endif
