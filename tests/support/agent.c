#include "tests/support/agent.h"

#include "lib/base/buf.h"
#include "lib/json/json.h"
#include "schema/agent/transcript/history.h"
#include "schema/agent/transcript/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void test_agent_open(struct agent_file *f, const char *path)
{
	struct err e = {0};

	if (agent_file_open(f, path, "ada", SQL_CREATE, &e))
		fail_msg("%s", e.text);
}

void test_writer_open(struct writer *w, struct agent_file *f, const char *key)
{
	struct err e = {0};

	if (writer_open(w, f, key, NULL, &e))
		fail_msg("%s", e.text);
}

int64_t test_append_message(struct writer *w, const char *text)
{
	struct event_ref ref;
	struct err e = {0};
	char body[256];

	snprintf(body, sizeof body, "{\"role\":\"user\",\"content\":\"%s\"}",
		 text);
	if (writer_append(w,
			  &(struct event_new){.type = "message",
					      .body = body,
					      .parent = WRITER_LEAF},
			  &ref, &e))
		fail_msg("%s", e.text);
	return ref.seq;
}

static void add_reply_content(struct buf *out, const char *body)
{
	cJSON *v = cJSON_Parse(body);

	buf_addf(out, "%s%s", out->n ? " " : "", json_text(v, "content", "?"));
	cJSON_Delete(v);
}

static const char *contents(struct agent_file *f, const char *key,
			    enum history_view view)
{
	static struct buf out = BUF_MAX(1 << 20);
	struct session_row s;
	struct history h;
	struct page p;
	struct arena a = {0};
	struct err e = {0};

	buf_clear(&out);
	if (session_need(f, key, &s, &a, &e) ||
	    history_load(f, s.id, view, &h, &a, &e) ||
	    history_forward(f, &h, 0, 10000, &p, &a, &e))
		fail_msg("%s", e.text);
	for (int i = 0; i < p.count; i++)
		add_reply_content(&out, p.events[i].body);
	arena_fini(&a);
	return out.p;
}

const char *test_path(struct agent_file *f, const char *key)
{
	return contents(f, key, HISTORY_PATH);
}

const char *test_log(struct agent_file *f, const char *key)
{
	return contents(f, key, HISTORY_LOG);
}

void test_sql(struct agent_file *f, const char *fmt, ...)
{
	struct buf b = BUF_MAX(1 << 20);
	struct err e = {0};
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	if (sql_script(f->db, b.p, &e))
		fail_msg("%s: %s", b.p, e.text);
	buf_fini(&b);
}

int64_t test_number(struct agent_file *f, const char *fmt, ...)
{
	struct buf b = BUF_MAX(1 << 20);
	struct err e = {0};
	int64_t n = 0;
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	if (sql_script_i64(f->db, b.p, &n, &e))
		fail_msg("%s: %s", b.p, e.text);
	buf_fini(&b);
	return n;
}

void test_integrity(struct agent_file *f)
{
	struct arena a = {0};
	struct err e = {0};
	const char *answer = "";
	int64_t broken = -1;

	if (sql_script_text(f->db, "PRAGMA integrity_check", &a, &answer, &e) ||
	    sql_script_i64(f->db,
			   "SELECT count(*) FROM pragma_foreign_key_check",
			   &broken, &e))
		fail_msg("%s", e.text);
	assert_string_equal(answer, "ok");
	assert_int_equal(broken, 0);
	arena_fini(&a);
}
