/* Whatever comes in as a message or as a plugin's line: it is refused, or what
 * is made of it is stored: its conversation, its row, its attachments, each by
 * its hash, and the files that are made of them stay where they belong. */
#include "tests/support/fuzz.h"
#include "tests/support/temp.h"

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/json/rpc_line.h"
#include "schema/control/channel/attachment.h"
#include "schema/control/channel/channel.h"
#include "schema/control/channel/media_type.h"
#include "schema/control/control.h"
#include "supervisor/channel/envelope.h"
#include "supervisor/channel/webhook/signature.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- the rows ---------------------------------------------------------- */

static struct sql *db;
static struct temp dir;

static void clean_up(void)
{
	sql_close(db);
	temp_remove(&dir);
}

static void open_once(void)
{
	struct err e;

	if (db)
		return;
	temp_make(&dir);
	require(db_open(&db, temp_join(&dir, "skep.sqlite"), &control_schema,
			SQL_CREATE, &e) == 0);
	require(sql_enter(db, &e) == 0);
	require(sql_leave(db, channels_seed(db, &e), &e) == 0);
	atexit(clean_up);
}

/* A file of its own, in the message's directory, with the very bytes. */
static void check_file(const struct media_use_row *m, struct arena *a)
{
	const char *top = temp_join(&dir, "media"), *path, *last;
	char room[MEDIA_TYPE_MAX];
	struct media_bytes_row bytes;
	char hash[HASH_HEX];
	struct stat st;
	struct err e;

	require(sql_get(db, Q_MEDIA_BYTES, &(struct media_bytes_in){m->media},
			&bytes, a, &e) == 1);
	hash_of(bytes.bytes.p, bytes.bytes.n, hash);
	require(!strcmp(hash, m->sha256) && (int64_t)bytes.bytes.n == m->size);
	require(media_type(m->mime, bytes.bytes, room)[0] != '\0');
	require(!strpbrk(m->mime, "\r\n\"; "));
	require(blob_materialise(db, m, top, &path, a, &e) == 0);
	last = strrchr(path, '/') + 1;
	require(!strncmp(path, top, strlen(top)) && !strstr(path, "/../"));
	require(last[0] != '.' && last[0] != '-' &&
		text_is_utf8(last, strlen(last)));
	require(!strpbrk(last, "]\"' \t\r\n"));
	require(lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		st.st_size == m->size);
}

static void store(const struct inbound_message *m, const char *id,
		  struct arena *a)
{
	struct media_limits limits = {256, 512, 4096};
	struct conversation_key key = {"local",   m->peer,
				       m->sender, m->kind,
				       m->title,  m->agent ? m->agent : ""};
	struct inbound_row row = {.id = id,
				  .channel = "local",
				  .external_id = m->external_id,
				  .sender = m->sender,
				  .kind = m->type,
				  .state = "recorded"};
	struct buf body = BUF_MAX(1u << 20);
	struct conversation_row conversation;
	struct media_use_row *uses;
	struct err e = {0};
	int n;

	if (!row.external_id)
		row.external_id = id;
	if (attachments_store(db, m->body, &limits, &e)) {
		require(e.code == ERR_INVALID || e.code == ERR_TOOBIG ||
			e.code == ERR_NOTFOUND || e.code == ERR_QUOTA);
		return;
	}
	require(limits.all >= 0 && limits.room >= 0);
	json_add(&body, m->body);
	row.body = body.p;
	require(conversation_open(db, &key, 1, &conversation, a, &e) == 0);
	require(conversation.session && strlen(conversation.session) < 257);
	row.conversation = conversation.id;
	require(sql_exec(db, Q_INBOUND_ADD, &row, &e) == 1);
	require(attachments_use(db, id, m->body, &e) == 0);
	n = sql_collect(db, Q_MEDIA_USE_LIST, &(struct media_use_list_in){id},
			1000, &uses, a, &e);
	require(n == cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(
			     m->body, "attachments")));
	for (int i = 0; i < n; i++)
		check_file(&uses[i], a);
	buf_fini(&body);
}

/* In a transaction that is taken back. */
static void check_stored(const struct inbound_message *m)
{
	struct id id = id_new(ID_INBOUND);
	struct arena a = {0};
	struct err e;

	open_once();
	require(sql_enter(db, &e) == 0);
	store(m, id.text, &a);
	require(sql_leave(db, -1, &e) == -1);
	arena_fini(&a);
}

static void check_message(const cJSON *json)
{
	struct inbound_message m;
	struct err e;

	if (inbound_message_read(&m, json, &e))
		return;
	require(text_check_key("peer", m.peer, CHANNEL_KEY_MAX, &e) == 0);
	require(text_check_key("sender", m.sender, CHANNEL_KEY_MAX, &e) == 0);
	require(cJSON_IsObject(m.body) && m.type && m.kind);
	require(strcmp(m.type, "request") != 0 || m.request);
	require((m.agent || m.session) ==
		(inbound_message_from_outside(&m, &e) == -1));
	check_stored(&m);
	inbound_message_fini(&m);
	require(m.body == NULL);
}

/* An answer with the id of a call is a line that has the same id; so answers
 * find their calls, and no id can forge a member of the answer. */
static void check_id(const struct rpc_line *r)
{
	struct buf b = BUF_MAX(4096);
	struct rpc_line back;
	struct err e;

	buf_addf(&b, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", r->id);
	require(rpc_line_read(&back, b.p, b.n, &e) == 0);
	require(!strcmp(back.id, r->id) && back.number == r->number);
	require(!back.method && cJSON_IsObject(back.result) && !back.error);
	require(cJSON_GetArraySize(back.json) == 3);
	rpc_line_fini(&back);
	buf_fini(&b);
}

static void check_inbound_line(const char *text, size_t n)
{
	struct rpc_line r;
	struct err e;

	if (rpc_line_read(&r, text, n, &e)) {
		require(text_is_utf8(e.text, strlen(e.text)));
		return;
	}
	if (r.id[0])
		check_id(&r);
	require(r.method || r.id[0]);
	require(r.number >= -1 && strlen(r.id) < RPC_ID_MAX);
	require(!r.params || cJSON_IsObject(r.params));
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
		require(webhook_keys_new(
				&keys,
				"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
				"whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcH"
				"URo=",
				&e) == 0);
	require(webhook_verify(keys, &c, &e) == -1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct err e;
	cJSON *json;

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	json = json_parse("message", text, size, &e);
	if (json)
		check_message(json);
	cJSON_Delete(json);
	check_inbound_line(text, size);
	check_claim(text, size);
	free(text);
	return 0;
}
