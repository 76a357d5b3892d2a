#include "lib/json/rpc_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 9007199254740991.0
#define VALUES_MAX 100000

static int bad(struct rpc_line *r, struct err *e, const char *why)
{
	rpc_line_fini(r);
	return err_set(e, ERR_INVALID, "%s", why);
}

static bool read_id(struct rpc_line *r, const cJSON *id)
{
	struct buf b = BUF_MAX(RPC_ID_MAX);
	bool over;
	char *end;

	r->number = -1;
	if (!id || cJSON_IsNull(id))
		return true;
	if (!cJSON_IsString(id) && !cJSON_IsNumber(id))
		return false;
	json_add(&b, id);
	over = b.over ||
	       snprintf(r->id, sizeof r->id, "%s", b.p) >= (int)sizeof r->id;
	buf_fini(&b);
	if (over)
		return false;
	if (cJSON_IsNumber(id) && id->valuedouble >= 0 &&
	    id->valuedouble <= NUMBER_MAX)
		r->number = (int64_t)id->valuedouble;
	if (cJSON_IsString(id) && id->valuestring[0] >= '0' &&
	    id->valuestring[0] <= '9') {
		r->number = strtoll(id->valuestring, &end, 10);
		if (*end || r->number > (int64_t)NUMBER_MAX)
			r->number = -1;
	}
	return r->id[0] != '\0';
}

/* A value of one byte in a line costs far more memory once parsed. */
static bool has_too_many_values(const char *p, const char *end)
{
	bool in_string = false;
	int n = 0;

	for (; p < end && n <= VALUES_MAX; p++) {
		if (in_string && *p == '\\')
			p++;
		else if (*p == '"')
			in_string = !in_string;
		else if (!in_string && (*p == ',' || *p == '[' || *p == '{'))
			n++;
	}
	return n > VALUES_MAX;
}

int rpc_line_read(struct rpc_line *r, const char *line, size_t n, struct err *e)
{
	const cJSON *method, *params;

	*r = (struct rpc_line){0};
	if (has_too_many_values(line, line + n))
		return err_set(e, ERR_TOOBIG, "a line has more than %d values",
			       VALUES_MAX);
	r->json = json_parse_object("line", line, n, e);
	if (!r->json)
		return -1;
	method = cJSON_GetObjectItemCaseSensitive(r->json, "method");
	params = cJSON_GetObjectItemCaseSensitive(r->json, "params");
	if (strcmp(json_text(r->json, "jsonrpc", ""), "2.0") != 0)
		return bad(r, e, "a line is not JSON-RPC 2.0");
	if (!read_id(r, cJSON_GetObjectItemCaseSensitive(r->json, "id")))
		return bad(r, e, "an id is a number or a short text");
	if (method && !cJSON_IsString(method))
		return bad(r, e, "a method is a text");
	if (params && !cJSON_IsObject(params))
		return bad(r, e, "params are an object");
	r->method = method ? method->valuestring : NULL;
	r->params = params;
	r->result = cJSON_GetObjectItemCaseSensitive(r->json, "result");
	r->error = cJSON_GetObjectItemCaseSensitive(r->json, "error");
	if (r->error && cJSON_IsNull(r->error))
		r->error = NULL;
	if (r->error && !cJSON_IsObject(r->error))
		return bad(r, e, "an error is an object");
	if (!r->method && !r->id[0])
		return bad(r, e, "a line has a method, or answers one");
	return 0;
}

void rpc_line_fini(struct rpc_line *r)
{
	cJSON_Delete(r->json);
	*r = (struct rpc_line){0};
}
