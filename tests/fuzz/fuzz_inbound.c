/* Whatever comes in as a message or as a plugin's line: it is refused, or what
 * is made of it can be stored. */
#include "base/text.h"
#include "supervisor/rpc_line.h"
#include "supervisor/webhook_sign.h"
#include "supervisor/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds)
{
	if (!holds)
		abort();
}

static void check_message(const cJSON *json)
{
	struct arrival m;
	struct err e;

	if (arrival_read(&m, json, &e))
		return;
	demand(text_check_key("peer", m.peer, CHANNEL_KEY_MAX, &e) == 0);
	demand(text_check_key("sender", m.sender, CHANNEL_KEY_MAX, &e) == 0);
	demand(cJSON_IsObject(m.body) && m.type && m.kind);
	demand(strcmp(m.type, "request") != 0 || m.request);
	arrival_fini(&m);
	demand(m.body == NULL);
}

/* An answer with the id of a call is a line that has the same id; so answers
 * find their calls, and no id can forge a member of the answer. */
static void check_id(const struct rpc_line *r)
{
	struct buf b = BUF_MAX(4096);
	struct rpc_line back;
	struct err e;

	buf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", r->id);
	demand(rpc_line_read(&back, b.p, b.n, &e) == 0);
	demand(!strcmp(back.id, r->id) && back.number == r->number);
	demand(!back.method && cJSON_IsObject(back.result) && !back.error);
	demand(cJSON_GetArraySize(back.json) == 3);
	rpc_line_fini(&back);
	buf_fini(&b);
}

static void check_line(const char *text, size_t n)
{
	struct rpc_line r;
	struct err e;

	if (rpc_line_read(&r, text, n, &e)) {
		demand(text_is_utf8(e.text, strlen(e.text)));
		return;
	}
	if (r.id[0])
		check_id(&r);
	demand(r.method || r.id[0]);
	demand(r.number >= -1 && strlen(r.id) < RPC_ID_MAX);
	demand(!r.params || cJSON_IsObject(r.params));
	if (r.params)
		check_message(r.params);
	rpc_line_fini(&r);
}

/* No text is a good signature of itself. */
static void check_claim(const char *text, size_t n)
{
	struct webhook_claim c = {.id = "m",
				  .timestamp = "1",
				  .signatures = text,
				  .body = {text, n},
				  .now_ms = 1000,
				  .tolerance_ms = 1000};
	static struct webhook_keys *keys;
	struct err e;

	if (!keys)
		demand(webhook_keys_new(
			       &keys,
			       "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
			       "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcH"
			       "URo=",
			       &e) == 0);
	demand(webhook_verify(keys, &c, &e) == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct err e;
	cJSON *json;

	demand(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	json = json_parse("message", text, size, &e);
	if (json)
		check_message(json);
	cJSON_Delete(json);
	check_line(text, size);
	check_claim(text, size);
	free(text);
	return 0;
}
