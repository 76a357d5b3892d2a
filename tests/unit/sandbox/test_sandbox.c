/* What definitions may say of sandboxes, what machines lack, and what the rules
 * and the filter refuse to a process of ours. */
#include "lib/sandbox/ns_clone.h"
#include "lib/sandbox/plan.h"
#include "lib/sandbox/sandbox.h"
#include "lib/sandbox/support.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int read_spec(const char *json, struct sandbox_spec *s, struct arena *a,
		     struct err *e)
{
	cJSON *v = json_parse_object("test", json, strlen(json), e);
	int rc = v ? sandbox_spec_read(s, v, a, e) : -1;

	cJSON_Delete(v);
	return rc;
}

static void a_definition_that_says_nothing_is_confined(void **state)
{
	struct sandbox_spec s;
	struct arena a = {0};
	struct err e;

	(void)state;
	assert_int_equal(read_spec("{}", &s, &a, &e), 0);
	assert_int_equal(s.mode, SANDBOX_ON);
	assert_int_equal(s.network, NETWORK_NONE);
	assert_true(s.limits.file > 0);
	assert_true(s.limits.pids > 0 && !s.limits.pids_set);
	arena_fini(&a);
}

static void a_plugin_has_the_network_of_the_host(void **state)
{
	static const char other[] = "{\"network\":\"none\"}";
	cJSON *none = cJSON_CreateObject(), *set = cJSON_Parse(other);
	struct sandbox_spec s;
	struct arena a = {0};
	struct err e;

	(void)state;
	assert_int_equal(sandbox_spec_read_plugin(&s, none, &a, &e), 0);
	assert_int_equal(s.mode, SANDBOX_ON);
	assert_int_equal(s.network, NETWORK_HOST);
	assert_int_equal(sandbox_spec_read_plugin(&s, set, &a, &e), 0);
	assert_int_equal(s.network, NETWORK_NONE);
	cJSON_Delete(none);
	cJSON_Delete(set);
	arena_fini(&a);
}

static void words_and_amounts_are_read(void **state)
{
	struct sandbox_spec s;
	struct arena a = {0};
	struct err e;

	(void)state;
	assert_int_equal(
		read_spec("{\"sandbox\":\"required\",\"network\":\"none\","
			  "\"limits\":{\"memory\":\"64M\",\"pids\":7,"
			  "\"runs\":2},\"paths\":{\"read\":[\"/a\"],"
			  "\"write\":[\"/b\",\"/c\"]}}",
			  &s, &a, &e),
		0);
	assert_int_equal(s.mode, SANDBOX_REQUIRED);
	assert_int_equal(s.network, NETWORK_NONE);
	assert_int_equal(s.limits.memory, 64 << 20);
	assert_int_equal(s.limits.pids, 7);
	assert_true(s.limits.pids_set);
	assert_int_equal(s.read.n, 1);
	assert_string_equal(s.write.path[1], "/c");
	arena_fini(&a);
}

static void a_slip_is_named(void **state)
{
	static const struct {
		const char *json, *why;
	} all[] = {
		{"{\"sandbox\":\"yes\"}", "off|on|partial|required"},
		{"{\"sandbox\":true}", "off|on|partial|required"},
		{"{\"network\":\"lan\"}", "host|loopback|none"},
		{"{\"limits\":[]}", "limits must be an object"},
		{"{\"limits\":{\"ram\":1}}", "unknown limit 'limits.ram'"},
		{"{\"limits\":{\"memory\":\"much\"}}", "limits.memory"},
		{"{\"limits\":{\"memory\":5}}", "at least"},
		{"{\"limits\":{\"pids\":-1}}", "limits.pids"},
		{"{\"paths\":{\"read\":[\"rel\"]}}", "paths.read"},
		{"{\"paths\":{\"write\":{}}}", "paths.write must be an array"},
		{"{\"paths\":[]}", "paths must be an object"},
		{"{\"paths\":{\"raed\":[\"/a\"]}}",
		 "unknown member 'paths.raed'"},
		{"{\"limits\":{\"memory\":0.5}}", "whole number"},
		{"{\"limits\":{\"pids\":1.5}}", "whole number"},
		{"{\"limits\":{\"files\":1e30}}", "whole number"},
	};
	struct arena a = {0};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct sandbox_spec s;
		struct err e = {0};

		assert_int_equal(read_spec(all[i].json, &s, &a, &e), -1);
		assert_int_equal(e.code, ERR_INVALID);
		if (!strstr(e.text, all[i].why))
			fail_msg("%s: %s", all[i].json, e.text);
	}
	arena_fini(&a);
}

static void what_a_machine_lacks_is_said_with_what_helps(void **state)
{
	struct sandbox_support none = {0}, old = {3, true, true, true, NULL},
			       all = {6, true, true, true, NULL};
	struct sandbox_spec off = {.mode = SANDBOX_OFF};
	struct buf b = BUF_MAX(4096);

	(void)state;
	assert_int_equal(sandbox_missing(&all, NULL, &b), 0);
	assert_int_equal(sandbox_missing(&none, &off, &b), 0);
	assert_int_equal(b.n, 0);
	assert_int_equal(sandbox_missing(&none, NULL, &b), 3);
	assert_non_null(strstr(b.p, "Landlock"));
	buf_clear(&b);
	assert_int_equal(sandbox_missing(&old, NULL, &b), 1);
	assert_non_null(strstr(b.p, "abstract sockets"));
	buf_fini(&b);
}

static void put_seven(void *arg)
{
	*(int *)arg = 7;
	_exit(0);
}

static void a_child_that_executes_is_given_no_copy_of_our_memory(void **state)
{
	for (int execs = 0; execs < 2; execs++) {
		int n = 0, status = -1;
		struct ns_clone j = {.user = -1,
				     .pid = -1,
				     .fn = put_seven,
				     .arg = &n,
				     .execs = execs};
		pid_t pid = ns_clone(&j);

		(void)state;
		assert_true(pid > 0);
		assert_int_equal(n, execs ? 7 : 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* Exit status of a process that runs fn in a box of its own. */
static int boxed(int (*sandbox)(const struct sandbox_plan *, struct err *),
		 const struct sandbox_plan *p, int (*fn)(const char *),
		 char *dir)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct err e;

		_exit(sandbox(p, &e) ? 99 : fn(dir));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool opens(const char *dir, const char *name, int flags)
{
	char path[300];
	int fd;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int tries(const char *dir)
{
	if (!opens(dir, "own/x", O_RDWR | O_CREAT))
		return 1;
	if (opens(dir, "other/secret", O_RDONLY) || errno != EACCES)
		return 2;
	if (opens(dir, "new", O_WRONLY | O_CREAT))
		return 3;
	if (!opens("/etc", "passwd", O_RDONLY))
		return 4;
	if (mount("none", "/mnt", "tmpfs", 0, NULL) == 0 || errno != EPERM)
		return 5;
	return 0;
}

/* What the server of a workspace may still do, and what not. */
static int serves(const char *dir)
{
	int rc = tries(dir);

	if (rc)
		return rc;
	if (!opens(dir, "below/file", O_RDONLY))
		return 11;
	if (opens(dir, "below/file", O_WRONLY) ||
	    opens(dir, "below/new", O_WRONLY | O_CREAT))
		return 12;
	if (unshare(CLONE_NEWNS) == 0 || errno != EPERM)
		return 13;
	if (chroot("/") == 0 || errno != EPERM)
		return 14;
	if (prctl(PR_CAPBSET_DROP, 0, 0, 0, 0) == 0) /* needs a right */
		return 15;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 16;
}

static void make_path(const char *dir, const char *name, char out[64])
{
	snprintf(out, 64, "%s/%s", dir, name);
	assert_int_equal(mkdir(out, 0700), 0);
}

static void a_process_reaches_its_own_file_and_no_other(void **state)
{
	char dir[] = "/tmp/skep-unit-XXXXXX", cmd[128];
	char own[64], other[64], below[64];
	struct sandbox_plan p = {.own = own};
	struct sandbox_support o;

	(void)state;
	sandbox_detect(&o);
	if (o.landlock == 0 || !o.filter)
		skip();
	assert_non_null(mkdtemp(dir));
	make_path(dir, "own", own);
	make_path(dir, "other", other);
	make_path(dir, "below", below);
	assert_true(opens(other, "secret", O_WRONLY | O_CREAT));
	assert_true(opens(below, "file", O_WRONLY | O_CREAT));
	assert_int_equal(boxed(sandbox_self, &p, tries, dir), 0);
	p.shown.path[p.shown.n++] = below;
	assert_int_equal(boxed(sandbox_server, &p, serves, dir), 0);
	snprintf(cmd, sizeof cmd, "rm -r %s", dir);
	assert_int_equal(system(cmd), 0); // NOLINT(cert-env33-c)
}

/* Nothing of a plan in shared memory points out of it, and one that is too long
 * is refused. */
static void a_plan_is_copied_with_its_texts(void **state)
{
	char hidden[] = "/h", path[] = "/w", home[] = "/home/x";
	static char text[PLAN_TEXT];
	struct homes homes = {.dir = {home}, .n = 1};
	struct namespaces_plan p = {.user = -1,
				    .hidden = hidden,
				    .homes = &homes,
				    .visible = {{path, true}},
				    .nvisible = 1};
	struct plan_page *page = plan_page_new();

	(void)state;
	assert_non_null(page);
	page->plan.user = 7;
	assert_true(plan_page_put(page, &p));
	memset(hidden, 'x', 2);
	memset(path, 'x', 2);
	memset(home, 'x', 2);
	homes.n = 0;
	assert_int_equal(page->plan.user, 7);
	assert_string_equal(page->plan.hidden, "/h");
	assert_string_equal(page->plan.visible[0].path, "/w");
	assert_int_equal(page->plan.homes->n, 1);
	assert_string_equal(page->plan.homes->dir[0], "/home/x");
	memset(text, 'x', sizeof text - 1);
	p.hidden = text;
	assert_false(plan_page_put(page, &p));
	plan_page_free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_definition_that_says_nothing_is_confined),
		cmocka_unit_test(a_plugin_has_the_network_of_the_host),
		cmocka_unit_test(words_and_amounts_are_read),
		cmocka_unit_test(a_slip_is_named),
		cmocka_unit_test(what_a_machine_lacks_is_said_with_what_helps),
		cmocka_unit_test(
			a_child_that_executes_is_given_no_copy_of_our_memory),
		cmocka_unit_test(a_plan_is_copied_with_its_texts),
		cmocka_unit_test(a_process_reaches_its_own_file_and_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
