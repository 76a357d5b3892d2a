#include "tests/support/agent_fixture.h"
#include "tests/support/clock.h"

#include "lib/base/clock.h"
#include "schema/agent/artifact.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static struct blob text(const char *s)
{
	return (struct blob){s, strlen(s)};
}

static struct id put_artifact(struct artifact_key key, struct blob bytes)
{
	struct err e = {0};
	struct id aid;

	if (artifact_put(file.db, &key, NULL, bytes, &aid, &e))
		fail_msg("%s", e.text);
	return aid;
}

/* The whole of an artifact, from the reader. */
static struct blob get_artifact(const char *aid)
{
	struct artifact_reader *r;
	struct buf all = BUF_MAX(1 << 24);
	struct blob piece, out;
	struct err e = {0};
	int rc;

	if (artifact_reader_open(&r, file.db, aid, &e))
		fail_msg("%s", e.text);
	while ((rc = artifact_read(r, &piece, &e)) > 0)
		buf_add(&all, piece.p, piece.n);
	if (rc)
		fail_msg("%s", e.text);
	artifact_reader_close(r);
	out = (struct blob){arena_copy(&mem, all.p, all.n), all.n};
	buf_fini(&all);
	return out;
}

static void fill_bytes(unsigned char *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		p[i] = (unsigned char)(seed >> 24);
	}
}

static void any_bytes_of_any_length_come_back(void **state)
{
	static const size_t sizes[] = {0,
				       1,
				       ARTIFACT_CHUNK - 1,
				       ARTIFACT_CHUNK,
				       ARTIFACT_CHUNK + 1,
				       300000};
	static unsigned char bytes[300000];

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct id aid;
		struct blob back;

		fill_bytes(bytes, sizes[i], (uint32_t)i);
		aid = put_artifact(artifact_key_tool("run_1", "call_1", NULL),
				   (struct blob){bytes, sizes[i]});
		back = get_artifact(aid.text);
		assert_int_equal(back.n, sizes[i]);
		if (sizes[i] > 0)
			assert_memory_equal(back.p, bytes, sizes[i]);
	}
	assert_int_equal(test_number(&file, "SELECT count(*) FROM artifact"),
			 6);
}

static void a_run_has_one_artifact_for_each_path(void **state)
{
	struct id one = put_artifact(artifact_key_run("run_1", "out/a.txt"),
				     text("old"));
	struct id two = put_artifact(artifact_key_run("run_1", "out/a.txt"),
				     text("new"));
	struct id other = put_artifact(artifact_key_run("run_2", "out/a.txt"),
				       text("else"));
	struct artifact_row row;
	struct err e;

	(void)state;
	assert_string_equal(one.text, two.text);
	assert_string_not_equal(one.text, other.text);
	assert_memory_equal(get_artifact(one.text).p, "new", 3);
	assert_int_equal(artifact_get(file.db, one.text, &row, &mem, &e), 1);
	assert_int_equal(row.size, 3);
	assert_string_equal(row.name, "out/a.txt");
}

static void the_same_natural_key_keeps_its_id(void **state)
{
	struct artifact_key key = artifact_key_named("ada", "plan", "today");
	struct artifact_about about = {.mime = "application/json",
				       .meta = "{\"v\":2}"};
	struct id one = put_artifact(key, text("{}")), two;
	struct artifact_row row;
	struct err e;

	(void)state;
	assert_int_equal(
		artifact_put(file.db, &key, &about, text("[]"), &two, &e), 0);
	assert_string_equal(one.text, two.text);
	assert_int_equal(artifact_find(file.db, &key, &row, &mem, &e), 1);
	assert_string_equal(row.mime, "application/json");
	assert_string_equal(row.meta, "{\"v\":2}");
	key.kind = "note";
	assert_string_not_equal(put_artifact(key, text("x")).text, one.text);
}

static void nothing_is_seen_before_the_commit(void **state)
{
	struct artifact_key key = artifact_key_run("run_1", "big");
	static char bytes[5 * ARTIFACT_CHUNK];
	struct artifact_writer *w;
	struct artifact_row row;
	struct err e;

	(void)state;
	assert_int_equal(artifact_writer_open(&w, file.db, &key, NULL, &e), 0);
	assert_int_equal(artifact_write(w, bytes, sizeof bytes, &e), 0);
	assert_int_equal(
		test_number(&file, "SELECT count(*) FROM artifact_chunk"), 4);
	assert_int_equal(artifact_find(file.db, &key, &row, &mem, &e), 0);
	assert_int_equal(artifact_gc(file.db, 0, 1000, &e), 0);
	artifact_writer_close(w);
	assert_int_equal(artifact_gc(file.db, 0, 1000, &e), 4);
	assert_int_equal(
		test_number(&file, "SELECT count(*) FROM artifact_content"), 0);
}

static void chunks_of_a_dead_writer_are_collected(void **state)
{
	struct artifact_key key = artifact_key_run("run_1", "big");
	static char bytes[3 * ARTIFACT_CHUNK];
	struct artifact_writer *w;
	struct err e = {0};

	(void)state;
	assert_int_equal(artifact_writer_open(&w, file.db, &key, NULL, &e), 0);
	assert_int_equal(artifact_write(w, bytes, sizeof bytes, &e), 0);
	test_clock_set(clock_now() + ARTIFACT_PENDING_MS);
	assert_int_equal(artifact_gc(file.db, 0, 1000, &e), 2);
	test_clock_set(-1);
	assert_int_equal(artifact_write(w, bytes, sizeof bytes, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
	artifact_writer_close(w);
}

static void a_put_goes_with_the_transaction_around_it(void **state)
{
	struct artifact_key key = artifact_key_run("run_1", "x");
	static char bytes[3 * ARTIFACT_CHUNK];
	struct artifact_row row;
	struct err e;

	(void)state;
	assert_int_equal(sql_enter(file.db, &e), 0);
	assert_int_equal(artifact_put(file.db, &key, NULL,
				      (struct blob){bytes, sizeof bytes}, NULL,
				      &e),
			 0);
	assert_int_equal(sql_leave(file.db, -1, &e), -1);
	assert_int_equal(artifact_find(file.db, &key, &row, &mem, &e), 0);
	assert_int_equal(
		test_number(&file, "SELECT count(*) FROM artifact_chunk"), 0);
}

static void the_size_limit_holds_and_leaves_nothing(void **state)
{
	struct artifact_key key = artifact_key_run("run_1", "x");
	struct artifact_about about = {.max_bytes = 2 * ARTIFACT_CHUNK};
	static char bytes[2 * ARTIFACT_CHUNK + 1];
	struct err e;

	(void)state;
	assert_int_equal(artifact_put(file.db, &key, &about,
				      (struct blob){bytes, sizeof bytes - 1},
				      NULL, &e),
			 0);
	assert_int_equal(artifact_put(file.db, &key, &about,
				      (struct blob){bytes, sizeof bytes}, NULL,
				      &e),
			 -1);
	assert_int_equal(e.code, ERR_TOOBIG);
	assert_int_equal(test_number(&file, "SELECT count(*) FROM artifact"),
			 1);
}

static void a_reader_finishes_what_was_replaced_meanwhile(void **state)
{
	struct artifact_key key = artifact_key_run("run_1", "x");
	static char bytes[3 * ARTIFACT_CHUNK];
	struct id aid = put_artifact(key, (struct blob){bytes, sizeof bytes});
	struct artifact_reader *r;
	struct blob piece;
	struct err e;
	int n = 0;

	(void)state;
	assert_int_equal(artifact_reader_open(&r, file.db, aid.text, &e), 0);
	assert_int_equal(artifact_read(r, &piece, &e), 1);
	put_artifact(key, text("new"));
	assert_int_equal(artifact_gc(file.db, 60000, 1000, &e), 0);
	while (artifact_read(r, &piece, &e) > 0)
		n++;
	assert_int_equal(n, 2);
	assert_int_equal(artifact_read(r, &piece, &e), 0);
	artifact_reader_close(r);
}

static void a_reader_that_was_collected_under_is_told(void **state)
{
	struct artifact_key key = artifact_key_run("run_1", "x");
	static char bytes[3 * ARTIFACT_CHUNK];
	struct id aid = put_artifact(key, (struct blob){bytes, sizeof bytes});
	struct artifact_reader *r;
	struct blob piece;
	struct err e = {0};

	(void)state;
	assert_int_equal(artifact_reader_open(&r, file.db, aid.text, &e), 0);
	assert_int_equal(artifact_read(r, &piece, &e), 1);
	assert_int_equal(artifact_delete(file.db, aid.text, &e), 1);
	assert_int_equal(artifact_gc(file.db, 0, 1000, &e), 3);
	assert_int_equal(artifact_read(r, &piece, &e), -1);
	assert_int_equal(e.code, ERR_STALE);
	artifact_reader_close(r);
}

static void damage_is_found_by_the_hash(void **state)
{
	struct id aid = put_artifact(artifact_key_run("run_1", "x"),
				     text("hello"));
	struct artifact_reader *r;
	struct blob piece;
	struct err e = {0};

	(void)state;
	test_sql(&file, "UPDATE artifact_chunk SET data = x'68656c6c70'");
	assert_int_equal(artifact_reader_open(&r, file.db, aid.text, &e), 0);
	assert_int_equal(artifact_read(r, &piece, &e), 1);
	assert_int_equal(artifact_read(r, &piece, &e), -1);
	assert_int_equal(e.code, ERR_CORRUPT);
	artifact_reader_close(r);
}

static void gc_is_bounded_and_keeps_what_is_used(void **state)
{
	static char bytes[40 * ARTIFACT_CHUNK];
	struct id keep = put_artifact(artifact_key_run("run_1", "keep"),
				      text("k"));
	struct id gone = put_artifact(artifact_key_run("run_1", "gone"),
				      (struct blob){bytes, sizeof bytes});
	struct err e;

	(void)state;
	assert_int_equal(artifact_delete(file.db, gone.text, &e), 1);
	assert_int_equal(artifact_delete(file.db, gone.text, &e), 0);
	assert_int_equal(artifact_gc(file.db, 0, 25, &e), 25);
	assert_int_equal(artifact_gc(file.db, 0, 25, &e), 15);
	assert_int_equal(artifact_gc(file.db, 0, 25, &e), 0);
	assert_memory_equal(get_artifact(keep.text).p, "k", 1);
}

static void lists_filter_and_go_on_page_by_page(void **state)
{
	struct artifact_filter all = {.owner = "run_1", .count = 4};
	struct artifact_row *rows;
	struct err e;
	char name[32];
	int n, seen = 0;

	(void)state;
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof name, "%s/%d", i % 2 ? "odd" : "even", i);
		put_artifact(artifact_key_run("run_1", name), text(name));
		put_artifact(artifact_key_tool("run_2", "call", name),
			     text(name));
	}
	while ((n = artifact_list(file.db, &all, &rows, &mem, &e)) > 0) {
		for (int i = 0; i < n; i++, seen++) {
			snprintf(name, sizeof name, "%s/%d",
				 seen % 2 ? "odd" : "even", seen);
			assert_string_equal(rows[i].name, name);
		}
		all.after = rows[n - 1].aid;
	}
	assert_int_equal(n, 0);
	assert_int_equal(seen, 10);
	assert_int_equal(
		artifact_list(file.db,
			      &(struct artifact_filter){.class = "tool",
							.prefix = "odd/"},
			      &rows, &mem, &e),
		5);
	assert_int_equal(artifact_list(file.db,
				       &(struct artifact_filter){.prefix = "%"},
				       &rows, &mem, &e),
			 0);
}

static void bad_keys_are_refused_with_a_reason(void **state)
{
	static const struct {
		struct artifact_key key;
		const char *says;
	} bad[] = {
		{{"blob", "o", "", "n"}, "tool, run, named or media"},
		{{"run", "run_1", "", "/etc/passwd"}, "relative path"},
		{{"run", "run_1", "", "a/../b"}, "relative path"},
		{{"run", "run_1", "", "a//b"}, "relative path"},
		{{"run", "run_1", "", "a/"}, "relative path"},
		{{"run", "run_1", "", ""}, "name"},
		{{"run", "run_1", "", "a\nb"}, "name"},
		{{"run", "run_1", "", "\xff"}, "name"},
		{{"run", "run_1", "kind", "a"}, "no kind"},
		{{"run", "", "", "a"}, "owner"},
		{{"named", "o", "", "n"}, "kind"},
		{{"tool", "run_1", "", "n"}, "tool call"},
	};
	struct artifact_about about = {.meta = "[1]"};
	struct artifact_key good = artifact_key_run("run_1", "a");
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(artifact_put(file.db, &bad[i].key, NULL,
					      text("x"), NULL, &e),
				 -1);
		if (!strstr(e.text, bad[i].says))
			fail_msg("%zu: %s", i, e.text);
	}
	assert_int_equal(
		artifact_put(file.db, &good, &about, text("x"), NULL, &e), -1);
	assert_non_null(strstr(e.text, "meta"));
	assert_int_equal(test_number(&file, "SELECT count(*) FROM artifact"),
			 0);
}

static void a_contract_names_what_is_missing(void **state)
{
	static const char *const paths[] = {"report.md", "data.csv", "log.txt"};
	struct err e = {0};

	(void)state;
	put_artifact(artifact_key_run("run_1", "report.md"), text("#"));
	put_artifact(artifact_key_run("run_2", "data.csv"), text("1,2"));
	assert_int_equal(
		artifact_check_required(file.db, "run_1", paths, 3, &e), -1);
	assert_int_equal(e.code, ERR_INVALID);
	assert_non_null(strstr(e.text, "data.csv, log.txt"));
	assert_null(strstr(e.text, "report.md"));
	put_artifact(artifact_key_run("run_1", "data.csv"), text("1"));
	put_artifact(artifact_key_run("run_1", "log.txt"), text(""));
	assert_int_equal(
		artifact_check_required(file.db, "run_1", paths, 3, &e), 0);
}

/* --- 100 MB ----------------------------------------------------------- */

#define LARGE ((size_t)100 << 20)
#ifdef __SANITIZE_ADDRESS__ /* keeps what was freed for a while */
#define LITTLE_KIB (400 << 10)
#else
#define LITTLE_KIB (16 << 10)
#endif

static long peak_kib(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_maxrss;
}

static void hash_file(const char *path, char out[HASH_HEX])
{
	static unsigned char piece[65536];
	struct hash *h = hash_new();
	int fd = open(path, O_RDONLY);
	ssize_t n;

	while ((n = read(fd, piece, sizeof piece)) > 0)
		hash_add(h, piece, (size_t)n);
	close(fd);
	hash_end(h, out);
}

static void a_hundred_megabytes_round_trip_in_little_memory(void **state)
{
	static unsigned char piece[100000];
	const char *from = temp_join(&dir, "from"), *to = temp_join(&dir, "to");
	struct artifact_key key = artifact_key_run("run_1", "large.bin");
	char was[HASH_HEX], is[HASH_HEX];
	struct artifact_row row;
	struct id aid;
	struct err e = {0};
	int fd = open(from, O_RDWR | O_CREAT, 0600);
	struct artifact_writer *w;
	long before;
	ssize_t n;

	(void)state;
	for (size_t at = 0; at < LARGE; at += sizeof piece) {
		fill_bytes(piece, sizeof piece, (uint32_t)at);
		assert_int_equal(write(fd, piece, sizeof piece), sizeof piece);
	}
	hash_file(from, was);
	before = peak_kib();
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(artifact_writer_open(&w, file.db, &key, NULL, &e), 0);
	while ((n = read(fd, piece, sizeof piece)) > 0)
		assert_int_equal(artifact_write(w, piece, (size_t)n, &e), 0);
	assert_int_equal(artifact_commit(w, &aid, &e), 0);
	artifact_writer_close(w);
	close(fd);
	assert_int_equal(artifact_get(file.db, aid.text, &row, &mem, &e), 1);
	assert_string_equal(row.sha256, was);
	fd = open(to, O_WRONLY | O_CREAT, 0600);
	if (artifact_get_fd(file.db, aid.text, fd, to, &e))
		fail_msg("%s", e.text);
	close(fd);
	hash_file(to, is);
	assert_string_equal(is, was);
	assert_in_range(peak_kib() - before, 0, LITTLE_KIB);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, set_up_agent, tear_down_agent)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_bytes_of_any_length_come_back),
		TEST(a_run_has_one_artifact_for_each_path),
		TEST(the_same_natural_key_keeps_its_id),
		TEST(nothing_is_seen_before_the_commit),
		TEST(chunks_of_a_dead_writer_are_collected),
		TEST(a_put_goes_with_the_transaction_around_it),
		TEST(the_size_limit_holds_and_leaves_nothing),
		TEST(a_reader_finishes_what_was_replaced_meanwhile),
		TEST(a_reader_that_was_collected_under_is_told),
		TEST(damage_is_found_by_the_hash),
		TEST(gc_is_bounded_and_keeps_what_is_used),
		TEST(lists_filter_and_go_on_page_by_page),
		TEST(bad_keys_are_refused_with_a_reason),
		TEST(a_contract_names_what_is_missing),
		TEST(a_hundred_megabytes_round_trip_in_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
