#include "worker/driver/acp/probe.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "lib/os/process_tree.h"
#include "lib/sandbox/support.h"
#include "worker/process/confine.h"
#include "worker/process/programs.h"
#include "worker/workspace/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_MS 1000000
#define INPUT_MAX (1u << 20)
#define GRACE_MS  500

struct trial {
	const cJSON *input;
	struct acp_config config;
	struct sandbox_spec spec;
	struct sandbox sandbox;
	struct arena arena;
	const char *dir;
	int64_t until; /* clock_mono_ns */
};

/* --- the sandbox ------------------------------------------------------ */

/* The same message as in a run. skepd sets limits. */
static int check_probe_sandbox(struct trial *t)
{
	struct sandbox_support o;
	struct buf b = BUF_MAX(4096);
	struct err e;
	int rc, missing;

	sandbox_detect(&o);
	o.namespaces = t->sandbox.namespaces.mnt >= 0;
	o.error = o.namespaces ? NULL : t->sandbox.namespaces_error.text;
	o.pids = t->sandbox.namespaces.pid >= 0;
	missing = sandbox_missing(&o, &t->spec, &b);
	while (b.n > 0 && b.p[b.n - 1] == '\n')
		b.p[--b.n] = '\0';
	if (sandbox_accept(&o, &t->spec, &b, &e))
		rc = probe_report("sandbox", false, e.text);
	else
		rc = probe_report("sandbox", true,
				  missing ? b.p : "as requested");
	buf_fini(&b);
	return rc;
}

static int make_box(struct trial *t)
{
	const cJSON *spec = cJSON_GetObjectItemCaseSensitive(t->input,
							     "sandbox");
	struct sandbox_plan plan = {
		.spec = &t->spec,
		.namespaces = {.user = -1,
			       .mnt = -1,
			       .root = -1,
			       .hidden = json_text(t->input, "home", NULL)},
		.workspace = t->dir,
		.home = getenv("HOME"),
		.own = t->dir,
	};
	struct buf config = BUF_MAX(INPUT_MAX);
	struct err e;
	int rc;

	json_add(&config, cJSON_GetObjectItemCaseSensitive(t->input, "config"));
	confine_show_certificates(&plan.shown);
	rc = sandbox_spec_read(&t->spec, spec, &t->arena, &e);
	programs_show(&plan.shown,
		      &(struct programs_request){config.n ? config.p : NULL,
						 plan.namespaces.hidden,
						 written_by(&t->spec, t->dir)},
		      &t->arena);
	buf_fini(&config);
	if (rc)
		return probe_report("sandbox", false, e.text);
	if (t->spec.mode == SANDBOX_OFF)
		return probe_report("sandbox", true, "off");
	sandbox_plan_resolve(&plan, &t->arena);
	t->sandbox = (struct sandbox)SANDBOX_NONE;
	if (sandbox_make(&t->sandbox, &plan, &e)) {
		t->spec.mode = SANDBOX_OFF;
		return probe_report("sandbox", false, e.text);
	}
	tree_has_init(t->sandbox.namespaces.init);
	return check_probe_sandbox(t);
}

/* --- the trial -------------------------------------------------------- */

static bool has_driver(const struct trial *t, const char *name)
{
	return strcmp(json_text(t->input, "driver", "acp"), name) == 0;
}

static int try_agent(struct trial *t, const struct sandbox *sandbox)
{
	int rc;

	if (has_driver(t, "exec"))
		return probe_exec(&t->config.exec, sandbox);
	rc = acp_probe_session(&(struct acp_probe_session){
		&t->config, sandbox, t->until,
		json_bool(t->input, "prompt", true)});
	if (rc) /* may be the reason; an agent that works with an older version
		 * is fine */
		(void)acp_probe_node(&t->config, sandbox,
				     json_i64(t->input, "node", 0));
	return rc;
}

static int try_all(struct trial *t)
{
	const struct sandbox *sandbox;
	struct err e;
	int rc;

	if (make_box(t))
		return -1;
	sandbox = t->spec.mode == SANDBOX_OFF ? NULL : &t->sandbox;
	rc = try_agent(t, sandbox);
	if (tree_end(GRACE_MS, 0, &(int){0}, &e))
		rc = probe_report("end", false, e.text);
	tree_has_init(0);
	if (sandbox)
		sandbox_drop(&t->sandbox);
	return rc;
}

/* The sandbox applies permanently to the process that makes it, so a separate
 * process does all this. As a subreaper it ends all processes that the agent
 * leaves. */
static int try_apart(struct trial *t)
{
	pid_t pid = fork();
	sigset_t child;
	int status = 0;
	struct err e;

	if (pid == 0) {
		sigemptyset(&child);
		sigaddset(&child, SIGCHLD);
		sigprocmask(SIG_BLOCK, &child, NULL);
		_exit(tree_own(&e) || try_all(t) ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		err_errno_set(&e, "fork");
		return probe_report("start", false, e.text);
	}
	if (WIFSIGNALED(status))
		return probe_report("start", false, "the trial was killed");
	return status ? -1 : 0;
}

/* Runs in an empty directory, which is deleted afterwards. */
static int try_in(struct trial *t)
{
	char dir[] = "/tmp/skep-try-XXXXXX";
	struct beneath place = {.dir = dir};
	struct buf config = BUF_MAX(INPUT_MAX);
	struct msg_start s = {.run = "run_test",
			      .attempt = 1,
			      .agent = "test",
			      .session = "test"};
	struct err e;
	int rc;

	if (!mkdtemp(dir)) {
		err_errno_set(&e, "%s", dir);
		return probe_report("start", false, e.text);
	}
	json_add(&config, cJSON_GetObjectItemCaseSensitive(t->input, "config"));
	s.config = config.n ? config.p : "{}";
	t->dir = dir;
	rc = has_driver(t, "exec")
		     ? exec_config_read(&t->config.exec, &s, dir, &t->arena, &e)
		     : acp_config_read(&t->config, &s, dir, &t->arena, &e);
	rc = rc ? probe_report("settings", false, e.text) : try_apart(t);
	place.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	beneath_empty(&place);
	beneath_close(&place);
	(void)rmdir(dir);
	buf_fini(&config);
	return rc;
}

int acp_probe(const char *timeout_ms)
{
	struct trial t = {0};
	struct buf text = BUF_MAX(INPUT_MAX);
	struct err e = {0};
	cJSON *input = NULL;
	int64_t ms;
	int rc;

	if (text_i64("the timeout", timeout_ms, 1, INT32_MAX, &ms, &e))
		return err_exit_status(e.code);
	t.until = clock_mono_ns() + ms * NS_PER_MS;
	(void)signal(SIGPIPE, SIG_IGN);
	if (file_read_fd(STDIN_FILENO, "the settings", &text, &e) == 0)
		input = json_parse_object("the settings", text.p, text.n, &e);
	t.input = input;
	if (!input)
		rc = probe_report("settings", false, e.text);
	else if (has_driver(&t, "script"))
		rc = probe_script(
			cJSON_GetObjectItemCaseSensitive(input, "config"));
	else
		rc = try_in(&t);
	cJSON_Delete(input);
	buf_fini(&text);
	arena_fini(&t.arena);
	return rc ? err_exit_status(ERR_UNAVAILABLE) : 0;
}
