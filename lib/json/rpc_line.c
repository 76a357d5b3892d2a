#include "lib/json/rpc_line.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

#define NUMBER_MAX INT64_C(9007199254740991)
#define VALUES_MAX 100000

static int bad(struct rpc_line *r, struct err *e, const char *why)
{
	rpc_line_fini(r);
	return err_set(e, ERR_INVALID, "%s", why);
}

int64_t rpc_id_number(const cJSON *id)
{
	struct err ignored;
	int64_t n;

	if (cJSON_IsNumber(id) && id->valuedouble >= 0 &&
	    id->valuedouble <= (double)NUMBER_MAX)
		return (int64_t)id->valuedouble;
	if (cJSON_IsString(id) &&
	    !text_i64("id", id->valuestring, 0, NUMBER_MAX, &n, &ignored))
		return n;
	return -1;
}

void rpc_message_of(struct rpc_message *m, const cJSON *v)
{
	*m = (struct rpc_message){
		.method = json_text(v, "method", NULL),
		.id = cJSON_GetObjectItemCaseSensitive(v, "id"),
		.params = cJSON_GetObjectItemCaseSensitive(v, "params"),
		.result = cJSON_GetObjectItemCaseSensitive(v, "result"),
		.error = cJSON_GetObjectItemCaseSensitive(v, "error"),
	};
	m->number = rpc_id_number(m->id);
}

static bool read_id(struct rpc_line *r, const cJSON *id)
{
	struct buf b = BUF_MAX(RPC_ID_MAX);
	bool over;

	if (!id || cJSON_IsNull(id))
		return true;
	if (!cJSON_IsString(id) && !cJSON_IsNumber(id))
		return false;
	json_add(&b, id);
	over = b.over ||
	       snprintf(r->id, sizeof r->id, "%s", b.p) >= (int)sizeof r->id;
	buf_fini(&b);
	return !over && r->id[0] != '\0';
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
	struct rpc_message m;

	*r = (struct rpc_line){0};
	if (has_too_many_values(line, line + n))
		return err_set(e, ERR_TOOBIG, "a line has more than %d values",
			       VALUES_MAX);
	r->json = json_parse_object("line", line, n, e);
	if (!r->json)
		return -1;
	rpc_message_of(&m, r->json);
	if (strcmp(json_text(r->json, "jsonrpc", ""), "2.0") != 0)
		return bad(r, e, "a line is not JSON-RPC 2.0");
	if (!read_id(r, m.id))
		return bad(r, e, "an id is a number or a short text");
	if (!m.method && cJSON_GetObjectItemCaseSensitive(r->json, "method"))
		return bad(r, e, "a method is a text");
	if (m.params && !cJSON_IsObject(m.params))
		return bad(r, e, "params are an object");
	r->method = m.method;
	r->number = m.number;
	r->params = m.params;
	r->result = m.result;
	r->error = cJSON_IsNull(m.error) ? NULL : m.error;
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
