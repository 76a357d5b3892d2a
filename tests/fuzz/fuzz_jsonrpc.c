#include "tests/support/fuzz.h"

#include "lib/json/jsonrpc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct received {
	int asks, replies;
};

static int take_request(struct rpc *r, const struct rpc_request *request,
			struct err *e)
{
	struct received *h = r->owner;

	(void)e;
	h->asks++;
	if (request->id)
		rpc_answer(r, request->id, "{}");
	return 0;
}

static int take_reply(struct rpc *r, const struct rpc_reply *reply,
		      struct err *e)
{
	struct received *h = r->owner;

	(void)e;
	require(reply->result || reply->message);
	h->replies++;
	return 0;
}

/* Every line that was sent is one exact message. */
static int check_message_line(void *arg, const struct line *line, struct err *e)
{
	cJSON *v = json_parse_object("sent", line->p, line->n, e);
	const cJSON *result = cJSON_GetObjectItemCaseSensitive(v, "result");
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(v, "error");

	(void)arg;
	require(v && !strcmp(json_text(v, "jsonrpc", ""), "2.0"));
	require(json_text(v, "method", NULL) || (!result) != (!error));
	require(json_text(v, "method", NULL) ||
		cJSON_GetObjectItemCaseSensitive(v, "id"));
	cJSON_Delete(v);
	return 0;
}

/* The id of a long message is the one that the parser finds. An escaped key
 * would hide it, and a key that is repeated is read twice. */
static void check_scan(const char *p, size_t n)
{
	struct rpc_scan s = {0};
	struct err ignored;
	cJSON *v, *id, *found;

	rpc_scan_add(&s, p, n / 3);
	rpc_scan_add(&s, p + n / 3, n - n / 3);
	v = json_parse_object("line", p, n, &ignored);
	id = cJSON_GetObjectItemCaseSensitive(v, "id");
	if (v && !memchr(p, '\\', n) && n < RPC_ID_MAX) {
		found = rpc_scan_id(&s) ? cJSON_Parse(rpc_scan_id(&s)) : NULL;
		require(found ? cJSON_Compare(id, found, true)
			      : !cJSON_IsString(id) && !cJSON_IsNumber(id));
		require(!json_text(v, "method", NULL) || s.has_method);
		cJSON_Delete(found);
	}
	cJSON_Delete(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rpc_method methods[] = {
		{"session/update", false, take_request},
		{"ask", true, take_request}};
	struct buf out = BUF_MAX(64u << 20);
	struct received h = {0};
	struct lines sent;
	struct rpc r;
	struct err e;

	check_scan((const char *)data, size);
	rpc_init(&r, methods, 2, &out, &h);
	require(rpc_call(&r, "initialize", "{}", take_reply, &e) == 0);
	require(rpc_call(&r, "session/new", "{}", take_reply, &e) == 0);
	require(rpc_feed(&r, (const char *)data, size / 2, &e) == 0);
	require(rpc_feed(&r, (const char *)data + size / 2, size - size / 2,
			 &e) == 0);
	require(h.replies <= 2);
	lines_init(&sent, 64u << 20);
	require(lines_add(&sent, out.p, out.n, check_message_line, NULL, &e) ==
		0);
	lines_fini(&sent);
	rpc_fini(&r);
	buf_fini(&out);
	return 0;
}
