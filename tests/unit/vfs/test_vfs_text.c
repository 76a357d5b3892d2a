/* Full-text search over files: vfs/search/fts.h. */
#include "tests/support/vfs_test.h"

#include "lib/db/sql.h"
#include "vfs/search/fts.h"
#include "vfs/snapshot/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct vfs_test t;

static int set_up_vfs_text(void **state)
{
	(void)state;
	vfs_test_begin(&t);
	return 0;
}

static int tear_down_vfs_text(void **state)
{
	(void)state;
	vfs_test_end(&t);
	return 0;
}

static void assert_no_error(int rc, const struct err *e)
{
	if (rc < 0)
		fail_msg("%s", e->text);
}

/* The paths that a search gives, best first, with blanks between. */
static const char *found_in(struct vfs *v, const char *query)
{
	static char text[1000];
	struct vfs_text search = {.query = query};
	struct vfs_text_hit *hits;
	struct arena a = {0};
	struct err e;
	int n = vfs_text_search(v, &search, &hits, &a, &e);

	assert_no_error(n, &e);
	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof text - at, "%s%s", i ? " " : "",
			 hits[i].path);
	}
	arena_fini(&a);
	return text;
}

#define FINDS(query, paths) assert_string_equal(found_in(t.v, query), paths)

static int looked_at(void)
{
	struct err e;
	int n = vfs_text_update(t.v, NULL, &e);

	assert_no_error(n, &e);
	return n;
}

static void what_changes_is_found_as_it_is(void **state)
{
	struct err e;

	(void)state;
	put(t.v, "a/one.txt", "The quick brown fox");
	put(t.v, "two.md", "quick! quick!");
	FINDS("quick", "two.md a/one.txt");
	FINDS("quick fox", "a/one.txt");
	put(t.v, "a/one.txt", "a slow fox");
	FINDS("quick", "two.md");
	FINDS("slow", "a/one.txt");
	assert_no_error(vfs_remove(t.v, "two.md", false, &e), &e);
	FINDS("quick", "");
	assert_no_error(vfs_move(t.v, "a", "b", 0, &e), &e);
	FINDS("fox", "b/one.txt");
	assert_no_error(vfs_remove(t.v, "b", true, &e), &e);
	FINDS("fox", "");
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_text"), 0);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_text_file"), 0);
}

static void a_search_looks_only_at_what_changed(void **state)
{
	char name[32];

	(void)state;
	assert_int_equal(
		number(t.db, "SELECT count(*) FROM vfs_text_watermark"), 0);
	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof name, "f%d", i);
		put(t.v, name, i == 321 ? "needle" : "straw");
	}
	FINDS("needle", "f321");
	assert_int_equal(looked_at(), 0);
	put(t.v, "f5", "needle");
	assert_int_equal(looked_at(), 1);
	FINDS("needle", "f5 f321");
}

static void a_file_that_shrinks_or_grows_in_place_is_read_again(void **state)
{
	struct vfs_attr a;
	struct err e;
	struct vfs_set cut = {.what = VFS_SET_SIZE, .size = 5};

	(void)state;
	put(t.v, "f", "alpha beta");
	FINDS("beta", "f");
	a = stat_of(t.v, "f");
	assert_no_error(vfs_setattr(t.v, a.ino, &cut, &a, &e), &e);
	FINDS("beta", "");
	FINDS("alpha", "f");
	assert_no_error(vfs_pwrite(t.v, a.ino, " gamma", 6, 5, &e) < 0 ? -1 : 0,
			&e);
	FINDS("gamma", "f");
}

static void going_back_brings_back_what_was_found(void **state)
{
	struct err e;

	(void)state;
	put(t.v, "keep", "walnut");
	put(t.v, "edited", "hazelnut");
	put(t.v, "gone", "chestnut");
	assert_no_error(vfs_snapshot(t.v, "s", &e), &e);
	FINDS("hazelnut", "edited");
	put(t.v, "edited", "coconut");
	put(t.v, "new", "coconut");
	assert_no_error(vfs_remove(t.v, "gone", false, &e), &e);
	FINDS("coconut", "edited new");
	FINDS("chestnut", "");
	assert_no_error(vfs_rollback_to(t.v, "s", &e), &e);
	FINDS("coconut", "");
	FINDS("hazelnut", "edited");
	FINDS("chestnut", "gone");
	FINDS("walnut", "keep");
}

static void what_is_no_text_or_too_long_is_passed_over(void **state)
{
	static char big[VFS_TEXT_MAX + 100];
	struct vfs_put how = {0};
	struct err e;

	(void)state;
	memset(big, ' ', sizeof big - 1);
	memcpy(big + 10, "needle", 6);
	put(t.v, "big", big);
	assert_no_error(vfs_write_file(t.v, "binary",
				       (struct blob){"needle\0\1\2", 9}, &how,
				       &e),
			&e);
	assert_no_error(vfs_write_file(t.v, "latin",
				       (struct blob){"needle caf\xe9 x", 13},
				       &how, &e),
			&e);
	put(t.v, "small", "needle");
	assert_int_equal(vfs_symlink(t.v, "needle", "link", &e), 0);
	FINDS("needle", "small latin");
	assert_int_equal(looked_at(), 0);
	big[VFS_TEXT_MAX - 1] = '\0';
	put(t.v, "big", big);
	FINDS("needle", "big small latin");
}

static void namespaces_do_not_see_each_other(void **state)
{
	struct vfs *other;
	struct err e;

	(void)state;
	put(t.v, "f", "apple");
	FINDS("apple", "f");
	assert_no_error(vfs_fork(t.v, "side", &e), &e);
	assert_no_error(vfs_open(&other, t.db, "side", "test", &e), &e);
	assert_string_equal(found_in(other, "apple"), "f");
	put(other, "f", "pear");
	assert_string_equal(found_in(other, "apple"), "");
	FINDS("apple", "f");
	FINDS("pear", "");
	vfs_close(other);
	assert_no_error(vfs_destroy(t.db, "side", &e), &e);
	assert_int_equal(number(t.db, "SELECT count(*) FROM vfs_text"), 1);
	assert_no_error(vfs_create(t.db, "anew", NULL, &e),
			&e); /* with the old number */
	assert_no_error(vfs_open(&other, t.db, "anew", "test", &e), &e);
	assert_string_equal(found_in(other, "pear"), "");
	vfs_close(other);
}

static void what_a_fork_brings_back_is_found(void **state)
{
	struct vfs_merge how = {0};
	struct vfs *fork;
	struct err e;

	(void)state;
	put(t.v, "f", "apple");
	FINDS("apple", "f");
	assert_no_error(vfs_fork(t.v, "side", &e), &e);
	assert_no_error(vfs_open(&fork, t.db, "side", "test", &e), &e);
	put(fork, "f", "pear");
	put(fork, "d/g", "plum");
	assert_no_error(vfs_merge(fork, &how, &e), &e);
	vfs_close(fork);
	FINDS("pear", "f");
	FINDS("plum", "d/g");
	FINDS("apple", "");
}

static void a_journal_that_was_trimmed_is_no_harm(void **state)
{
	struct err e;
	int64_t left;

	(void)state;
	put(t.v, "f", "apple");
	put(t.v, "h", "cherry");
	FINDS("apple", "f");
	FINDS("cherry", "h");
	put(t.v, "f", "pear");
	assert_no_error(vfs_remove(t.v, "h", false, &e), &e);
	put(t.v, "g", "plum");
	assert_no_error(
		sql_script(
			t.db,
			"DELETE FROM vfs_journal WHERE seq < (SELECT max(seq)"
			" FROM vfs_journal)",
			&e),
		&e);
	FINDS("pear", "f");
	FINDS("apple", "");
	FINDS("plum", "g");
	/* nothing stays of a file that is gone */
	assert_no_error(sql_script_i64(t.db,
				       "SELECT count(*) FROM vfs_text_file",
				       &left, &e),
			&e);
	assert_int_equal(left, 2);
}

static void a_damaged_index_is_made_anew(void **state)
{
	struct err e;

	(void)state;
	put(t.v, "f", "apple");
	FINDS("apple", "f");
	assert_no_error(
		sql_script(t.db, "DELETE FROM vfs_text_data WHERE id > 10", &e),
		&e);
	assert_no_error(vfs_text_rebuild(t.v, &e), &e);
	FINDS("apple", "f");
}

static void wrong_questions_are_refused(void **state)
{
	struct vfs_text wrong[] = {{.query = ""},
				   {.query = "AND (", .advanced = true},
				   {.query = "x", .count = 5000},
				   {.query = "x", .skip = -1}};
	struct vfs_text_hit *hits;
	struct arena a = {0};
	struct vfs *old;
	struct err e;

	(void)state;
	put(t.v, "f", "x");
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		assert_int_equal(vfs_text_search(t.v, &wrong[i], &hits, &a, &e),
				 -1);
		assert_int_equal(e.code, ERR_USAGE);
	}
	assert_no_error(vfs_snapshot(t.v, "s", &e), &e);
	assert_no_error(vfs_open(&old, t.db, "main@s", "test", &e), &e);
	assert_int_equal(vfs_text_update(old, NULL, &e), -1);
	assert_int_equal(e.code, ERR_UNSUPPORTED);
	vfs_close(old);
	arena_fini(&a);
}

static void a_page_of_a_directory_has_snippets(void **state)
{
	struct vfs_text query = {
		.query = "\"brown fox\"", .below = "b/", .skip = 1, .count = 1};
	struct vfs_text_hit *hits;
	struct arena a = {0};
	struct err e;

	(void)state;
	put(t.v, "a", "a brown fox");
	put(t.v, "b/1", "the brown fox");
	put(t.v, "b/2", "the very quick brown fox of the woods");
	put(t.v, "bb", "a brown fox");
	assert_int_equal(vfs_text_search(t.v, &query, &hits, &a, &e), 1);
	assert_string_equal(hits[0].path, "b/2");
	assert_string_equal(hits[0].snippet,
			    "the very quick [brown fox] of the woods");
	arena_fini(&a);
}

int main(void)
{
#define T(f) \
	cmocka_unit_test_setup_teardown(f, set_up_vfs_text, tear_down_vfs_text)
	const struct CMUnitTest tests[] = {
		T(what_changes_is_found_as_it_is),
		T(a_search_looks_only_at_what_changed),
		T(a_file_that_shrinks_or_grows_in_place_is_read_again),
		T(going_back_brings_back_what_was_found),
		T(what_is_no_text_or_too_long_is_passed_over),
		T(namespaces_do_not_see_each_other),
		T(what_a_fork_brings_back_is_found),
		T(a_journal_that_was_trimmed_is_no_harm),
		T(a_damaged_index_is_made_anew),
		T(wrong_questions_are_refused),
		T(a_page_of_a_directory_has_snippets),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
