/* Channels, conversations, attachments, messages between sessions. */
#include "tests/support/temp.h"

#include "lib/base/text.h"
#include "lib/json/base64.h"
#include "lib/os/file.h"
#include "schema/control/channel/attachment.h"
#include "schema/control/channel/channel.h"
#include "schema/control/channel/mailbox.h"
#include "schema/control/channel/media_type.h"
#include "schema/control/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct temp dir;
static struct sql *db;
static struct arena mem;

static int set_up_channels(void **state)
{
	struct err e = {0};

	(void)state;
	temp_make(&dir);
	if (db_open(&db, temp_join(&dir, "skep.sqlite"), &control_schema,
		    SQL_CREATE, &e))
		fail_msg("%s", e.text);
	return 0;
}

static int tear_down_channels(void **state)
{
	(void)state;
	sql_close(db);
	arena_fini(&mem);
	mem = (struct arena){0};
	temp_remove(&dir);
	return 0;
}

static int put_channel(const char *name, const char *json, struct err *e)
{
	cJSON *def = json_parse_object("def", json, strlen(json), e);
	int rc = channels_put(db, name, def, "test", e);

	cJSON_Delete(def);
	return rc;
}

static void must_put(const char *name, const char *json)
{
	struct err e = {0};

	if (put_channel(name, json, &e))
		fail_msg("%s", e.text);
}

static void a_new_home_has_an_owner_an_agent_and_a_channel(void **state)
{
	struct channel_row channel;
	struct agent_row agent;
	struct user_count_row people = {0};
	struct err e = {0};

	(void)state;
	for (int i = 0; i < 2; i++) /* the second time changes nothing */
		assert_int_equal(channels_seed(db, &e), 0);
	sql_get(db, Q_USER_COUNT, NULL, &people, NULL, &e);
	assert_int_equal(people.n, 1);
	assert_int_equal(
		sql_get(db, Q_AGENT_GET_DEFAULT, NULL, &agent, &mem, &e), 1);
	assert_int_equal(
		sql_get(db, Q_CHANNEL_GET_DEFAULT, NULL, &channel, &mem, &e),
		1);
	assert_string_equal(channel.kind, "pull");
}

static void a_wrong_definition_is_refused_with_its_reason(void **state)
{
	static const struct {
		const char *json, *says;
	} bad[] = {
		{"{\"kind\":\"pigeon\"}", "pigeon"},
		{"{\"kind\":\"file\",\"config\":{\"url\":\"http://x\"}}",
		 "no setting 'url'"},
		{"{\"kind\":\"webhook\",\"config\":{\"url\":\"ftp://x\"}}",
		 "https"},
		{"{\"kind\":\"webhook\",\"config\":{\"url\":\"file:///etc/"
		 "passwd\"}}",
		 "https"},
		{"{\"kind\":\"webhook\",\"config\":{\"url\":\"http://\"}}",
		 "no host"},
		{"{\"kind\":\"webhook\",\"config\":{\"url\":\"https://u:p@x/"
		 "\"}}",
		 "looks like a secret"},
		{"{\"kind\":\"webhook\",\"config\":{\"proxy\":\"http://u@x\"}}",
		 "looks like a secret"},
		{"{\"kind\":\"smtp\",\"config\":{\"from\":\"a@b\",\"server\":"
		 "\"smtp://u:p@x\"}}",
		 "looks like a secret"},
		{"{\"kind\":\"smtp\",\"config\":{\"from\":\"a@b\",\"server\":"
		 "\"mail.example.org\"}}",
		 "smtps"},
		{"{\"kind\":\"webhook\",\"config\":{\"secret\":\"whsec_x\"}}",
		 "looks like a secret"},
		{"{\"kind\":\"webhook\",\"config\":{\"secret_file\":\"../x\"}}",
		 "credentials/"},
		{"{\"kind\":\"file\",\"config\":{\"attempts\":0}}", "attempts"},
		{"{\"kind\":\"file\",\"config\":{\"path\":\"x\"}}", "absolute"},
		{"{\"kind\":\"file\",\"command\":[\"x\"]}", "only a plugin"},
		{"{\"kind\":\"plugin\"}", "command"},
		{"{\"kind\":\"plugin\",\"command\":[]}", "command"},
		{"{\"kind\":\"plugin\",\"command\":[\"x\"],\"config\":{"
		 "\"limits\":{\"disk\":1}}}",
		 "limits.disk is not available for a plugin"},
		{"{\"kind\":\"smtp\"}", "server and from"},
		{"{\"kind\":\"file\",\"colour\":1}", "colour"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err e = {0};

		assert_int_equal(put_channel("c", bad[i].json, &e), -1);
		if (!strstr(e.text, bad[i].says))
			fail_msg("%s: %s", bad[i].json, e.text);
	}
}

static void secrets_are_refused_wherever_they_would_be_shown(void **state)
{
	static const char *const bad[] = {
		"{\"kind\":\"plugin\",\"command\":[\"x\"],"
		"\"config\":{\"Bot-Token\":\"t\"}}",
		"{\"kind\":\"plugin\",\"command\":[\"x\"],"
		"\"config\":{\"a\":{\"password\":\"t\"}}}",
		"{\"kind\":\"plugin\",\"command\":[\"x\",\"--token=t\"]}",
		"{\"kind\":\"plugin\",\"command\":[\"x\",\"--api-key\",\"t\"]}",
		"{\"kind\":\"plugin\",\"command\":[\"env\",\"MY_SECRET=t\","
		"\"x\"]}",
		"{\"kind\":\"webhook\",\"config\":{\"url\":"
		"\"https://a:b@example.org/\"}}",
		"{\"kind\":\"smtp\",\"config\":{\"from\":\"a@b\",\"server\":"
		"\"smtp://a:b@example.org\"}}",
	};
	static const char *const good[] = {
		"{\"kind\":\"plugin\",\"command\":[\"x\",\"--token-file=t\","
		"\"--max-tokens\",\"3\",\"--token\",\"--verbose\"],"
		"\"config\":{\"token_file\":\"t\",\"tokens\":\"3\","
		"\"token\":7}}",
		"{\"kind\":\"webhook\",\"config\":{\"url\":"
		"\"https://example.org/@ann?a=b@c\"}}",
	};
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		if (put_channel("bad", bad[i], &e) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(e.code, ERR_INVALID);
	}
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		must_put(i ? "hook" : "plug", good[i]);
}

static void a_channel_keeps_its_kind_and_what_is_not_said(void **state)
{
	struct channel_row row;
	struct err e = {0};

	(void)state;
	must_put("c", "{\"kind\":\"plugin\",\"command\":[\"x\"],\"config\":"
		      "{\"own\":{\"a\":1}}}");
	must_put("c", "{\"enabled\":false}");
	assert_int_equal(channels_get(db, "c", &row, &mem, &e), 0);
	assert_string_equal(row.config, "{\"own\":{\"a\":1}}");
	assert_false(row.is_enabled);
	assert_int_equal(put_channel("c", "{\"kind\":\"file\"}", &e), -1);
	assert_int_equal(e.code, ERR_CONFLICT);
}

static struct conversation_row open_conversation(const char *peer,
						 const char *sender,
						 const char *kind)
{
	struct conversation_key t = {"c", peer, sender, kind, NULL, "fallback"};
	struct conversation_row row;
	struct err e = {0};

	if (conversation_open(db, &t, 1000, &row, &mem, &e))
		fail_msg("%s", e.text);
	return row;
}

static void the_narrowest_binding_decides_who_answers(void **state)
{
	static const struct binding_row rows[] = {
		{"c", "*", "group", "groups", NULL, "sender", 0},
		{"c", "vip", "any", "butler", "suite", "conversation", 0},
	};
	struct conversation_row a, b;
	struct err e = {0};

	(void)state;
	must_put("c", "{\"kind\":\"file\"}");
	assert_string_equal(open_conversation("ann", "ann", "direct").agent,
			    "fallback");
	assert_string_equal(open_conversation("ann", "ann", "direct").session,
			    "c/ann");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(binding_set(db, &rows[i], "test", &e), 0);
	assert_string_equal(open_conversation("vip", "bob", "group").agent,
			    "butler");
	assert_string_equal(open_conversation("vip", "bob", "group").session,
			    "suite");
	a = open_conversation("room", "ann", "group");
	b = open_conversation("room", "bob", "group");
	assert_string_equal(a.agent, "groups");
	assert_string_not_equal(a.id, b.id); /* a thread for each sender */
	assert_string_equal(a.session, "c/room/ann");
	assert_string_equal(open_conversation("room", "ann", "group").id, a.id);
}

/* --- attachments ------------------------------------------------------ */

static void base_64_is_the_same_back_and_refuses_what_is_none(void **state)
{
	static const char *const bad[] = {
		"A", "AB=C", "A===", "AB!D", "AAAA=", "AAAA-"};
	unsigned char bytes[64];

	(void)state;
	for (size_t n = 0; n <= sizeof bytes; n++) {
		struct buf text = BUF_MAX(200), back = BUF_MAX(100);
		struct err e = {0};

		for (size_t i = 0; i < n; i++)
			bytes[i] = (unsigned char)(i * 37 + n);
		base64_add(&text, bytes, n);
		assert_int_equal(base64_decode(&back, text.p, text.n, &e), 0);
		assert_int_equal(back.n, n);
		assert_memory_equal(back.p, bytes, n);
		buf_fini(&text);
		buf_fini(&back);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct buf back = BUF_MAX(100);
		struct err e = {0};

		if (base64_decode(&back, bad[i], strlen(bad[i]), &e) == 0)
			fail_msg("%s was taken", bad[i]);
		buf_fini(&back);
	}
}

static cJSON *message(const char *json)
{
	struct err e = {0};
	cJSON *body = json_parse_object("body", json, strlen(json), &e);

	if (!body)
		fail_msg("%s", e.text);
	return body;
}

static void equal_attachments_are_stored_once_and_made_files_on_demand(
	void **state)
{
	cJSON *body = message(
		"{\"attachments\":[{\"name\":\"../a b.txt\","
		"\"type\":\"text/plain\",\"base64\":\"aGVsbG8=\"},"
		"{\"name\":\"b\",\"base64\":\"aGVsbG8=\"}]}");
	struct media_use_row *rows;
	struct buf text = BUF_MAX(100);
	struct media_limits l = {100, 100, 100};
	const char *path;
	struct err e = {0};
	int64_t n = 0;

	(void)state;
	assert_int_equal(attachments_store(db, body, &l, &e), 0);
	assert_int_equal(l.all, 90);
	assert_int_equal(l.room, 90); /* as nothing of it was there */
	assert_int_equal(attachments_use(db, "inb_1", body, &e), 0);
	cJSON_Delete(body);
	sql_script_i64(db, "SELECT count(*) FROM media", &n, &e);
	assert_int_equal(n, 1);
	assert_int_equal(sql_collect(db, Q_MEDIA_USE_LIST,
				     &(struct media_use_list_in){"inb_1"}, 9,
				     &rows, &mem, &e),
			 2);
	assert_int_equal(blob_materialise(db, &rows[0], temp_join(&dir, "m"),
					  &path, &mem, &e),
			 0);
	assert_string_equal(strrchr(path, '/'), "/a_b.txt");
	assert_null(strstr(path, ".."));
	assert_int_equal(file_read(path, &text, &e), 0);
	assert_string_equal(text.p, "hello");
	buf_fini(&text);
}

/* Whatever a stranger calls his file: one component, in the message's own
 * directory, no two alike, and readable in a prompt. */
static void names_of_files_are_harmless(void **state)
{
	static const struct {
		const char *name, *file;
	} rows[] = {
		{"cat.png", "cat.png"},
		{"1-cat.png", "0-1-cat.png"},
		{"../../etc/passwd", "passwd"},
		{"..", "attachment"},
		{"", "attachment"},
		{"a/", "attachment"},
		{".bashrc", "_bashrc"},
		{"-rf", "_rf"},
		{"a\nb]: /etc \"'`$(x)", "etc___'"},
		{"gr\xc3\xbc\xc3\x9f.txt", "gr\xc3\xbc\xc3\x9f.txt"},
	};
	struct media_use_row m = {.owner = "inb_7", .idx = 0, .size = 5};
	char longest[4096];
	struct id id;
	const char *path, *last;
	struct err e = {0};

	(void)state;
	assert_int_equal(
		blob_put(db, "text/plain", (struct blob){"hello", 5}, &id, &e),
		0);
	m.media = id.text;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		m.name = rows[i].name;
		assert_int_equal(blob_materialise(db, &m, temp_join(&dir, "m"),
						  &path, &mem, &e),
				 0);
		last = strrchr(path, '/') + 1;
		if (strchr(rows[i].file, '\''))
			assert_null(strpbrk(last, "]\"'`$() \n"));
		else
			assert_string_equal(last, rows[i].file);
	}
	m.idx = 1;
	m.name = "cat.png";
	assert_int_equal(
		blob_materialise(db, &m, temp_join(&dir, "m"), &path, &mem, &e),
		0);
	assert_string_equal(strrchr(path, '/'), "/1-cat.png");
	/* cut between characters, never within one */
	memset(longest, 'a', sizeof longest);
	memcpy(longest + 199, "\xc3\xbc", 2);
	longest[sizeof longest - 1] = '\0';
	m.name = longest;
	assert_int_equal(
		blob_materialise(db, &m, temp_join(&dir, "m"), &path, &mem, &e),
		0);
	assert_true(text_is_utf8(path, strlen(path)));
	assert_int_equal(strlen(strrchr(path, '/')), 1 + 2 + 199);
}

static void types_are_what_bytes_say_or_what_was_declared(void **state)
{
	static const struct {
		const char *declared, *bytes, *type;
	} rows[] = {
		{NULL, "\x89PNG\r\n\x1a\n....", "image/png"},
		{"image/*", "\xff\xd8\xff\xe0", "image/jpeg"},
		{"text/html", "%PDF-1.7", "application/pdf"},
		{"application/vnd.ms-excel", "PK\x03\x04", /* a zip file, too */
		 "application/vnd.ms-excel"},
		{NULL, "PK\x03\x04", "application/zip"},
		{"Text/CSV; charset=utf-8", "a,b", "text/csv"},
		{"text/plain\r\nX: y", "hello", "text/plain"},
		{"nonsense", "hello", "text/plain"},
		{"/", "\x01\x02", "application/octet-stream"},
		{"application/octet-stream", "hello", "text/plain"},
		{NULL, "", "application/octet-stream"},
		{"a/b", "", "a/b"},
	};
	char room[MEDIA_TYPE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct blob b = {rows[i].bytes, strlen(rows[i].bytes)};

		assert_string_equal(media_type(rows[i].declared, b, room),
				    rows[i].type);
	}
}

static void attachments_have_their_limit(void **state)
{
	static const struct {
		const char *json;
		enum err_code code;
	} bad[] = {
		{"{\"attachments\":[{\"base64\":\"aGVsbG8=\"}]}", ERR_TOOBIG},
		{"{\"attachments\":[{\"base64\":\"!\"}]}", ERR_INVALID},
		{"{\"attachments\":[{\"name\":\"x\"}]}", ERR_INVALID},
		{"{\"attachments\":[{\"media\":\"med_1\"}]}", ERR_NOTFOUND},
		{"{\"attachments\":7}", ERR_INVALID},
		{"{\"attachments\":[{\"base64\":\"QUFB\"},"
		 "{\"base64\":\"QkJC\"}]}",
		 ERR_TOOBIG},
		{"{\"attachments\":[{\"base64\":\"Q0ND\"}]}", ERR_QUOTA},
	};
	int64_t before = 0, after = 0;

	struct err e = {0};

	(void)state;
	sql_script_i64(db, "SELECT count(*) FROM media", &before, &e);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		cJSON *body = message(bad[i].json);
		struct media_limits l = {4, 5, i == 6 ? 2 : 100};

		assert_int_equal(attachments_store(db, body, &l, &e), -1);
		assert_int_equal(e.code, bad[i].code);
		cJSON_Delete(body);
	}
	sql_script_i64(db, "SELECT count(*) FROM media", &after, &e);
	assert_int_equal(before, after); /* all or nothing */
}

/* --- messages between sessions ---------------------------------------- */

static struct id post(const struct message_new *m, int expect)
{
	struct err e = {0};
	struct id id;
	int n = message_send(db, m, &id, &e);

	if (n != expect)
		fail_msg("%d: %s", n, e.text);
	return id;
}

static int collect(const char *agent, const char *session,
		   struct message_row **rows)
{
	struct err e = {0};
	int n = message_collect(db, agent, session, 10, rows, &mem, &e);

	if (n < 0)
		fail_msg("%s", e.text);
	return n;
}

static void a_message_is_read_once_and_in_order(void **state)
{
	struct message_new m = {.sender = "a/main",
				.agent = "b",
				.session = "s",
				.body = "one",
				.source_key = "k1"};
	struct message_row *rows;

	(void)state;
	post(&m, 1);
	post(&m, 0); /* the same source again */
	m.source_key = NULL;
	m.body = "two";
	post(&m, 1);
	assert_int_equal(collect("b", "other", &rows), 0);
	assert_int_equal(collect("b", "s", &rows), 2);
	assert_string_equal(rows[0].body, "one");
	assert_string_equal(rows[1].body, "two");
	assert_int_equal(collect("b", "s", &rows), 0);
}

static void a_broadcast_is_unread_member_by_member(void **state)
{
	static const char *const members[] = {"a", "b", "c"};
	struct message_new m = {
		.sender = "a/main", .room = "all", .body = "hello"};
	struct message_row *rows;
	struct room_row *room;
	struct err e = {0};
	struct id id;

	(void)state;
	assert_int_equal(message_send(db, &m, &id, &e), -1);
	assert_int_equal(e.code, ERR_NOTFOUND); /* it has no members */
	for (size_t i = 0; i < 3; i++)
		sql_exec(db, Q_ROOM_JOIN,
			 &(struct room_join_in){"all", members[i], "main", 1},
			 &e);
	post(&m, 1);
	assert_int_equal(collect("a", "main", &rows), 0); /* its own */
	assert_int_equal(collect("b", "main", &rows), 1);
	assert_int_equal(sql_collect(db, Q_ROOM_LIST,
				     &(struct room_list_in){"all"}, 10, &room,
				     &mem, &e),
			 3);
	assert_int_equal(room[1].unread, 0);
	assert_int_equal(room[2].unread, 1);
}

int main(void)
{
#define IN_HOME(f) \
	cmocka_unit_test_setup_teardown(f, set_up_channels, tear_down_channels)
	const struct CMUnitTest tests[] = {
		IN_HOME(a_new_home_has_an_owner_an_agent_and_a_channel),
		IN_HOME(a_wrong_definition_is_refused_with_its_reason),
		IN_HOME(a_channel_keeps_its_kind_and_what_is_not_said),
		IN_HOME(secrets_are_refused_wherever_they_would_be_shown),
		IN_HOME(the_narrowest_binding_decides_who_answers),
		cmocka_unit_test(
			base_64_is_the_same_back_and_refuses_what_is_none),
		IN_HOME(equal_attachments_are_stored_once_and_made_files_on_demand),
		IN_HOME(names_of_files_are_harmless),
		cmocka_unit_test(types_are_what_bytes_say_or_what_was_declared),
		IN_HOME(attachments_have_their_limit),
		IN_HOME(a_message_is_read_once_and_in_order),
		IN_HOME(a_broadcast_is_unread_member_by_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
