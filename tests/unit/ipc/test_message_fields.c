/* Generated from the table of messages: every field of every message missing,
 * null, of each wrong type, too large, and with a word that is not allowed. */
#include "ipc/message.h"

#include "lib/json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { NEED, MAY };

struct row {
	const char *message;
	const char *name;
	enum field_type type;
	int need;
	int64_t max;
	const char *words;
};

#define ROW(S, type, name, need, max, words) \
	{#S, #name, FIELD_##type, need, max, words},
#define M(name, FIELDS, side, kind) MSG_##FIELDS(ROW, name)
static const struct row rows[] = {MSG_LIST(M)};
#undef M

static const enum msg_side sides[] = {
#define M(name, FIELDS, side, kind) side,
	MSG_LIST(M)
#undef M
};

#define NROWS (sizeof rows / sizeof rows[0])

static bool is_number(const struct row *r)
{
	return r->type == FIELD_i64 || r->type == FIELD_opt;
}

/* A value that is allowed. */
static void add_valid(struct buf *b, const struct row *r)
{
	if (is_number(r))
		buf_adds(b, "1");
	else if (r->type == FIELD_json)
		buf_adds(b, "{}");
	else if (r->words[0])
		buf_addf(b, "\"%.*s\"", (int)strcspn(r->words, "|"), r->words);
	else
		buf_adds(b, "\"x\"");
}

/* The message of row `at`, with another value there; NULL: without it. */
static void make_message(struct buf *b, size_t at, const char *value)
{
	buf_clear(b);
	buf_addf(b, "{\"type\":\"%s\"", rows[at].message);
	for (size_t i = 0; i < NROWS; i++) {
		if (strcmp(rows[i].message, rows[at].message) != 0 ||
		    (i == at && !value))
			continue;
		buf_addf(b, ",\"%s\":", rows[i].name);
		if (i == at)
			buf_adds(b, value);
		else
			add_valid(b, &rows[i]);
	}
	buf_addc(b, '}');
}

static enum msg_side side_of(const char *message)
{
	for (int i = 0; i < MSG_TYPES; i++)
		if (!strcmp(msg_name((enum msg_type)i), message))
			return sides[i];
	fail_msg("no message %s", message);
	return SIDE_WORKER;
}

static int decode_row(size_t at, const char *value, struct err *e)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	struct arena a = {0};
	struct msg m;
	int rc;

	make_message(&b, at, value);
	rc = msg_decode(b.p, b.n, side_of(rows[at].message), &a, &m, e);
	arena_fini(&a);
	buf_fini(&b);
	return rc;
}

static void refuses(size_t at, const char *value)
{
	struct err e = {0};

	if (decode_row(at, value, &e) == 0)
		fail_msg("%s.%s: %.60s was taken", rows[at].message,
			 rows[at].name, value ? value : "(missing)");
	if (!strstr(e.text, rows[at].name))
		fail_msg("%s.%s: %.60s: %s", rows[at].message, rows[at].name,
			 value ? value : "(missing)", e.text);
}

static void try_types(size_t at)
{
	static const char *const numbers[] = {"1.5", "-1", "1e300",
					      "99999999999999999999"};
	const struct row *r = &rows[at];

	if (r->type == FIELD_json)
		return; /* any value */
	refuses(at, "true");
	refuses(at, "[1]");
	refuses(at, "{\"a\":1}");
	refuses(at, is_number(r) ? "\"1\"" : "1");
	for (size_t i = 0; i < 4 && is_number(r); i++)
		refuses(at, numbers[i]);
}

static void try_size(size_t at)
{
	const struct row *r = &rows[at];
	struct buf b = BUF_MAX(MSG_MAX_BYTES);

	if (!is_number(r) && r->max < 4 << 20) {
		buf_addc(&b, '"');
		for (int64_t i = 0; i <= r->max; i++)
			buf_addc(&b, 'x');
		buf_addc(&b, '"');
		refuses(at, b.p);
	} else if (is_number(r)) {
		buf_addf(&b, "%lld0", (long long)r->max);
		refuses(at, b.p);
	}
	buf_fini(&b);
}

static void every_field_is_checked(void **state)
{
	(void)state;
	assert_true(NROWS > 90);
	for (size_t at = 0; at < NROWS; at++) {
		struct buf b = BUF_MAX(4096);
		struct err e = {0};

		add_valid(&b, &rows[at]);
		if (decode_row(at, b.p, &e))
			fail_msg("%s: %s", rows[at].message, e.text);
		buf_fini(&b);
		if (rows[at].need == NEED) {
			refuses(at, NULL);
			refuses(at, "null");
		} else {
			assert_int_equal(decode_row(at, NULL, &e), 0);
			(void)decode_row(at, "null", &e);
		}
		try_types(at);
		try_size(at);
		if (rows[at].words[0]) {
			refuses(at, "\"no-such-word\"");
			refuses(at, "\"\"");
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
