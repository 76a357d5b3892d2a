#include "tests/support/agent_fixture.h"

#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "schema/agent/media.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
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

static void attachments_go_with_their_session(void **state)
{
	struct artifact_key key = {"media", NULL, "1", "a.txt"};
	struct writer w;
	struct err e;

	(void)state;
	test_writer_open(&w, &file, "chat");
	test_append_message(&w, "look");
	key.owner = w.sid;
	put_artifact(key, text("x"));
	test_sql(&file, "DELETE FROM event; DELETE FROM session");
	assert_int_equal(test_number(&file, "SELECT count(*) FROM artifact"),
			 0);
	assert_int_equal(artifact_gc(file.db, 0, 10, &e), 1);
}

static const char *content_of(const char *path)
{
	struct buf b = BUF_MAX(1 << 20);
	struct err e = {0};
	const char *out;

	if (file_read(path, &b, &e))
		fail_msg("%s", e.text);
	out = arena_text(&mem, b.p);
	buf_fini(&b);
	return out;
}

static void a_path_is_made_on_demand_and_collected(void **state)
{
	struct artifact_key key = {"media", "ses_1", "1", "notes/a b.txt"};
	const char *top = temp_join(&dir, "media/tmp");
	struct id aid = put_artifact(key, text("one"));
	const char *path, *again, *newer;
	struct stat st;
	struct err e = {0};

	(void)state;
	assert_int_equal(media_gc(top, 0, &e), 0);
	assert_int_equal(
		media_materialise(file.db, aid.text, top, &path, &mem, &e), 0);
	assert_string_equal(content_of(path), "one");
	assert_string_equal(strrchr(path, '/'), "/a b.txt");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(
		media_materialise(file.db, aid.text, top, &again, &mem, &e), 0);
	assert_string_equal(path, again);
	put_artifact(key, text("two"));
	assert_int_equal(
		media_materialise(file.db, aid.text, top, &newer, &mem, &e), 0);
	assert_string_equal(content_of(newer), "two");
	assert_int_equal(media_gc(top, 60000, &e), 0);
	assert_int_equal(media_gc(top, 0, &e), 2);
	assert_int_equal(access(newer, F_OK), -1);
	assert_int_equal(
		media_materialise(file.db, aid.text, top, &newer, &mem, &e), 0);
	assert_string_equal(content_of(newer), "two");
}

static void files_of_a_plugin_are_collected_and_its_directory_stays(
	void **state)
{
	struct id channel = id_new(ID_CHANNEL), message = id_new(ID_DELIVERY);
	const char *top = temp_join(&dir, "media/plugin");
	const char *own = arena_printf(&mem, "%s/%s", top, channel.text);
	const char *sub = arena_printf(&mem, "%s/%s", own, message.text);
	const char *path = arena_printf(&mem, "%s/a", sub);
	struct err e = {0};

	(void)state;
	assert_int_equal(file_make_dir(sub, 0700, &e), 0);
	assert_int_equal(atomic_file_write(path, "x", 1, 0600, &e), 0);
	assert_int_equal(media_gc(top, 60000, &e), 0);
	assert_int_equal(media_gc(top, 0, &e), 1);
	assert_int_equal(access(sub, F_OK), -1);
	assert_int_equal(access(own, F_OK), 0);
}

static void half_a_file_is_never_taken_for_the_whole(void **state)
{
	struct artifact_key key = {"media", "ses_1", "1", "a"};
	struct id aid = put_artifact(key, text("whole"));
	const char *path;
	struct err e = {0};

	(void)state;
	assert_int_equal(
		media_materialise(file.db, aid.text, dir.path, &path, &mem, &e),
		0);
	assert_int_equal(truncate(path, 2), 0);
	assert_int_equal(
		media_materialise(file.db, aid.text, dir.path, &path, &mem, &e),
		0);
	assert_string_equal(content_of(path), "whole");
	assert_int_equal(media_materialise(file.db, "art_none", dir.path, &path,
					   &mem, &e),
			 -1);
	assert_int_equal(e.code, ERR_NOTFOUND);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, set_up_agent, tear_down_agent)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(attachments_go_with_their_session),
		TEST(a_path_is_made_on_demand_and_collected),
		TEST(files_of_a_plugin_are_collected_and_its_directory_stays),
		TEST(half_a_file_is_never_taken_for_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
