#ifndef LIB_JSON_RPC_LINE_H
#define LIB_JSON_RPC_LINE_H

#include "lib/base/err.h"
#include "lib/json/json.h"

#include <stddef.h>
#include <stdint.h>

/* The members of a JSON-RPC message, unchanged; all borrowed. */
struct rpc_message {
	const char *method;                        /* NULL: it is a response */
	const cJSON *id, *params, *result, *error; /* NULL: absent */
	int64_t number; /* the id as a number; -1 if it is none */
};

int64_t rpc_id_number(const cJSON *id); /* -1: it is none */
void rpc_message_of(struct rpc_message *m, const cJSON *v);

/* One line of JSON-RPC 2.0, parsed and checked. A pure function, so that it can be
 * fuzzed. */
#define RPC_ID_MAX 128

struct rpc_line {
	cJSON *json;         /* owns the rest */
	const char *method;  /* NULL: it is an answer */
	char id[RPC_ID_MAX]; /* as JSON text; "": none, a notification */
	int64_t number;      /* the same as a number; -1 if it is none */
	const cJSON *params; /* an object, or NULL */
	const cJSON *result; /* of an answer, or NULL */
	const cJSON *error;  /* likewise; an object */
};

/* ERR_INVALID: it is not such a line; ERR_TOOBIG: too many values. After
 * success, the caller calls rpc_line_fini. */
int rpc_line_read(struct rpc_line *r, const char *line, size_t n,
		  struct err *e);
void rpc_line_fini(struct rpc_line *r);

#endif
