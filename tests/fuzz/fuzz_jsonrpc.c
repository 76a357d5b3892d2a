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
