#include "lib/json/jsonrpc.h"

#include "lib/base/text.h"
#include "lib/json/rpc_line.h"

#include <string.h>

void rpc_init(struct rpc *r, const struct rpc_method *methods, size_t n,
	      struct buf *out, void *owner)
{
	*r = (struct rpc){
		.methods = methods, .nmethods = n, .out = out, .owner = owner};
	lines_init(&r->lines, RPC_LINE_MAX);
}

void rpc_fini(struct rpc *r)
{
	lines_fini(&r->lines);
}

static void begin_message(struct rpc *r)
{
	json_begin_object(r->out);
	json_put_text(r->out, "jsonrpc", "2.0");
}

static void end_message(struct rpc *r)
{
	json_end_object(r->out);
	buf_addc(r->out, '\n');
}

int rpc_call(struct rpc *r, const char *method, const char *params,
	     rpc_then *then, struct err *e)
{
	int i = 0;

	while (i < RPC_CALLS && r->calls[i].id)
		i++;
	if (i == RPC_CALLS)
		return err_set(e, ERR_FULL, "%d calls wait for their replies",
			       RPC_CALLS);
	r->calls[i].id = ++r->last;
	r->calls[i].then = then;
	begin_message(r);
	json_put_int(r->out, "id", r->last);
	json_put_text(r->out, "method", method);
	json_put_raw(r->out, "params", params);
	end_message(r);
	return buf_ok(r->out, method, e);
}

void rpc_forget(struct rpc *r)
{
	memset(r->calls, 0, sizeof r->calls);
}

void rpc_notify(struct rpc *r, const char *method, const char *params)
{
	begin_message(r);
	json_put_text(r->out, "method", method);
	json_put_raw(r->out, "params", params);
	end_message(r);
}

void rpc_answer(struct rpc *r, const char *id, const char *result)
{
	begin_message(r);
	json_put_raw(r->out, "id", id);
	json_put_raw(r->out, "result", result);
	end_message(r);
}

void rpc_refuse(struct rpc *r, const char *id, enum rpc_code code,
		const char *message)
{
	begin_message(r);
	json_put_raw(r->out, "id", id);
	json_put_object(r->out, "error");
	json_put_int(r->out, "code", code);
	json_put_text(r->out, "message", message);
	json_end_object(r->out);
	end_message(r);
}

static const struct rpc_method *find_method(const struct rpc *r,
					    const char *name)
{
	for (size_t i = 0; i < r->nmethods; i++)
		if (strcmp(r->methods[i].name, name) == 0)
			return &r->methods[i];
	return NULL;
}

static void refuse_unknown(struct rpc *r, const char *id, const char *name)
{
	struct buf why = BUF_MAX(256);

	buf_addf(&why, "unknown method %s", quoted(name).text);
	rpc_refuse(r, id, RPC_METHOD, why.p);
	buf_fini(&why);
}

static int take_request(struct rpc *r, const char *name, const cJSON *id,
			const cJSON *params, struct err *e)
{
	const struct rpc_method *m = find_method(r, name);
	struct buf text = BUF_MAX(4096);
	struct rpc_request request = {.params = params};
	int rc = 0;

	if (id)
		json_add(&text, id);
	if (text.over) { /* an id that we could not send back */
		buf_fini(&text);
		return 0;
	}
	request.id = id ? text.p : NULL;
	if (!m && id)
		refuse_unknown(r, text.p, name);
	else if (m && m->answers == (id != NULL))
		rc = m->take(r, &request, e);
	else if (m && id)
		rpc_answer(r, text.p, "null");
	buf_fini(&text);
	return rc;
}

static int take_reply(struct rpc *r, int64_t id, const cJSON *result,
		      const cJSON *error, struct err *e)
{
	static const cJSON nothing = {.type = cJSON_NULL};
	struct rpc_reply reply = {
		.result = result || error ? result : &nothing,
		.code = json_i64(error, "code", RPC_INTERNAL),
		.message = json_text(error, "message", "no reason given"),
		.data = cJSON_GetObjectItemCaseSensitive(error, "data"),
	};

	if (cJSON_IsObject(error)) /* some send "error": null with a result */
		reply.result = NULL;
	for (int i = 0; i < RPC_CALLS; i++) {
		if (r->calls[i].id != id)
			continue;
		r->calls[i].id = 0;
		return r->calls[i].then(r, &reply, e);
	}
	return 0; /* a reply to no request, or a second one */
}

static int take_message(struct rpc *r, const cJSON *v, bool *known,
			struct err *e)
{
	struct rpc_message m;

	rpc_message_of(&m, v);
	*known = m.method || (m.number > 0 && (m.result || m.error));
	if (m.method)
		return take_request(r, m.method, m.id, m.params, e);
	return *known ? take_reply(r, m.number, m.result, m.error, e) : 0;
}

/* A batch is a list of messages. No known peer sends one, but the standard
 * allows it. */
static int take_value(struct rpc *r, const cJSON *v, bool *known, struct err *e)
{
	const cJSON *one;

	if (!cJSON_IsArray(v))
		return take_message(r, v, known, e);
	cJSON_ArrayForEach(one, v)
	{
		if (take_message(r, one, known, e))
			return -1;
	}
	return 0;
}

/* C strings cannot contain a NUL, so a NUL in a message is read as U+FFFD; the
 * request must not be lost. */
static cJSON *parse_message(const struct line *line)
{
	static const char nul[] = "\\u0000", other[] = "\\ufffd";
	struct buf b = BUF_MAX(RPC_LINE_MAX);
	struct err ignored;
	char *at;
	cJSON *v;

	v = json_parse("line", line->p, line->n, &ignored);
	if (v || !memmem(line->p, line->n, nul, sizeof nul - 1))
		return v;
	buf_add(&b, line->p, line->n);
	while ((at = memmem(b.p, b.n, nul, sizeof nul - 1)))
		memcpy(at, other, sizeof other - 1);
	v = json_parse("line", b.p, b.n, &ignored);
	buf_fini(&b);
	return v;
}

static int fail_call(struct rpc *r, const char *id, const char *why,
		     struct err *e)
{
	cJSON *error = cJSON_CreateObject();
	cJSON *v = json_parse("id", id, strlen(id), e);
	int rc;

	cJSON_AddNumberToObject(error, "code", RPC_REQUEST);
	cJSON_AddStringToObject(error, "message", why);
	rc = take_reply(r, rpc_id_number(v), NULL, error, e);
	cJSON_Delete(v);
	cJSON_Delete(error);
	return rc;
}

/* A piece of a message over the limit. */
static int take_piece(struct rpc *r, const struct line *line, struct err *e)
{
	struct buf why = BUF_MAX(128);
	const char *id;
	int rc = 0;

	if (line->first)
		r->scan = (struct rpc_scan){0};
	rpc_scan_add(&r->scan, line->p, line->n);
	id = line->last ? rpc_scan_id(&r->scan) : NULL;
	buf_addf(&why, "the message is longer than %u bytes", RPC_LINE_MAX);
	if (id && r->scan.has_method)
		rpc_refuse(r, id, RPC_REQUEST, why.p);
	else if (id)
		rc = fail_call(r, id, why.p, e);
	buf_fini(&why);
	return rc;
}

static int take_line(void *arg, const struct line *line, struct err *e)
{
	struct rpc *r = arg;
	bool known = false;
	cJSON *v = NULL;
	int rc = 0;

	if (!line->whole)
		rc = take_piece(r, line, e);
	else if (line->n > 0 && strchr("{[", line->p[0]))
		v = parse_message(line);
	if (v)
		rc = take_value(r, v, &known, e);
	cJSON_Delete(v);
	if (rc == 0 && !known && line->n > 0 && r->noise)
		rc = r->noise(r, line->p, line->n, e);
	return rc;
}

int rpc_feed(struct rpc *r, const char *p, size_t n, struct err *e)
{
	if (lines_add(&r->lines, p, n, take_line, r, e))
		return -1;
	return buf_ok(r->out, "what the other side has not read", e);
}
