/*
 * exec: any command. The prompt is its stdin, its output becomes events
 * (worker/process/output_line.h), and its end is the end of the run. When the
 * run is to end, the command gets SIGTERM; output during the grace period is
 * stored.
 */
#include "lib/base/clock.h"
#include "lib/base/mark.h"
#include "lib/json/json.h"
#include "lib/os/process_tree.h"
#include "schema/agent/transcript/history.h"
#include "worker/driver/driver.h"
#include "worker/process/command.h"
#include "worker/process/orphans.h"
#include "worker/process/subprocess.h"
#include "worker/run/turn.h"
#include "worker/workspace/workspace.h"

#include <signal.h>
#include <string.h>

#define NS_PER_MS  1000000
#define INPUT_MANY (4u << 20) /* not read by the command yet */

struct exec {
	struct run *run;
	struct exec_config config;
	struct subprocess subprocess;
	bool end_requested;
	int64_t kill_at; /* clock_mono_ns of end_requested */
};

/* Earlier messages of the session, oldest first. */
static int add_context(struct exec *x, struct buf *b, struct err *e)
{
	struct transcript *j = &x->run->transcript;
	struct arena a = {0};
	struct history h;
	struct page page = {0};
	int rc;

	rc = history_load(&j->file, j->writer.session, HISTORY_MODEL, &h, &a,
			  e);
	if (rc == 0 && x->config.context > 0)
		rc = history_backward(&j->file, &h, 0,
				      (int)x->config.context + 2, &page, &a, e);
	json_put_array(b, "context");
	for (int i = page.count - 1; i >= 0 && rc == 0; i--) {
		const struct event *ev = &page.events[i];

		if (strcmp(ev->type, "message") != 0 ||
		    (ev->run && strcmp(ev->run, x->run->start->run) == 0))
			continue;
		json_begin_object(b);
		json_put_int(b, "seq", ev->seq);
		json_put_stored(b, "body", ev->body);
		json_end_object(b);
	}
	json_end_array(b);
	arena_fini(&a);
	return rc;
}

static int prompt_line(struct exec *x, struct err *e)
{
	const struct msg_start *s = x->run->start;
	struct buf *b = &x->subprocess.input;

	json_begin_object(b);
	json_put_text(b, "type", "prompt");
	json_put_text(b, "run", s->run);
	json_put_int(b, "attempt", s->attempt);
	json_put_text(b, "agent", s->agent);
	json_put_text(b, "session", s->session);
	json_put_text(b, "workspace", x->config.cwd);
	json_put_text(b, "prompt", s->prompt);
	if (add_context(x, b, e))
		return -1;
	json_end_object(b);
	buf_addc(b, '\n');
	return buf_ok(b, "prompt", e);
}

static int first_input(struct exec *x, struct err *e)
{
	x->subprocess.input_ends = x->config.in != STDIN_LINES;
	if (x->config.in == STDIN_TEXT)
		buf_adds(&x->subprocess.input, x->run->start->prompt);
	else if (x->config.in != STDIN_NONE)
		return prompt_line(x, e);
	return buf_ok(&x->subprocess.input, "prompt", e);
}

static int on_output(void *arg, const char *p, size_t n, struct err *e)
{
	struct exec *x = arg;

	return exec_output_add(&x->subprocess.output, false, p, n, e);
}

/* SIGTERM, once; the processes are killed after the grace period. */
static void request_end(struct exec *x)
{
	int64_t grace = x->run->start->grace_ms;
	char why[COMMANDS_WHY];

	if (x->end_requested || !run_ending(x->run))
		return;
	(void)commands_reason(&x->run->commands, why, &grace);
	x->end_requested = true;
	x->kill_at = clock_mono_ns() + grace * NS_PER_MS;
	subprocess_close_input(&x->subprocess);
	tree_signal(SIGTERM);
	tree_signal(SIGCONT); /* it may be paused */
}

static int64_t wait_ms(const struct exec *x)
{
	int64_t left = (x->kill_at - clock_mono_ns()) / NS_PER_MS + 1;

	return !x->end_requested ? 60000 : left > 0 ? left : 0;
}

static bool over(const struct exec *x)
{
	return x->run->child_status != RUN_NO_STATUS ||
	       (x->end_requested && clock_mono_ns() >= x->kill_at);
}

/* A paused command writes nothing, but the content of the pipe is read. */
static int serve_command(struct exec *x, struct err *e)
{
	while (!over(x)) {
		if (subprocess_poll(&x->subprocess, -1, wait_ms(x), e))
			return -1;
		request_end(x);
	}
	return 0;
}

/* From the start of the command until none of its processes is left. */
static int serve_process(struct exec *x, struct run_end *end, struct err *e)
{
	struct run *r = x->run;
	struct err left;
	int rc;

	subprocess_write(&x->subprocess);
	mark(MARK_command_started);
	rc = serve_command(x, e);
	mark(MARK_command_ended);
	orphans_report(r);
	/* Its grace period is over. */
	if (tree_end(x->end_requested ? 0 : r->start->grace_ms, r->child,
		     &r->child_status, &left) &&
	    rc == 0) {
		*e = left;
		rc = -1;
	}
	mark(MARK_tree_ended);
	if (rc || subprocess_drain(&x->subprocess, e))
		return -1;
	if (run_ending(r))
		return err_set(e, ERR_CANCELED, "the command was ended");
	subprocess_outcome(&x->subprocess, r->child_status, end);
	return 0;
}

static int command(struct exec *x, struct run_end *end, struct err *e)
{
	struct child_spec spec = {x->config.argv, x->config.env, x->config.cwd,
				  workspace_ns(x->run->workspace),
				  x->run->sandbox};

	if (first_input(x, e) || turn_begin(x->run, "exec", e))
		return -1;
	return subprocess_start(&x->subprocess, &spec, end)
		       ? serve_process(x, end, e)
		       : 0;
}

static int exec_run(struct run *r, struct run_end *end, struct err *e)
{
	struct exec *x = arena_alloc(&r->arena, sizeof *x);
	int rc;

	*x = (struct exec){.run = r};
	if (workspace_open(r, e) ||
	    exec_config_read(&x->config, r->start, r->workspace->dir, &r->arena,
			     e))
		return -1;
	subprocess_init(&x->subprocess, r);
	x->subprocess.on_output = on_output;
	x->subprocess.arg = x;
	r->state = x;
	mark(MARK_workspace_open);
	rc = command(x, end, e);
	subprocess_fini(&x->subprocess);
	r->state = NULL;
	return rc;
}

static int exec_accepts(struct run *r, struct err *e)
{
	struct exec *x = r->state;

	if (!x || x->subprocess.child.in < 0 || x->subprocess.input_ends)
		return err_set(e, ERR_CONFLICT,
			       "the command does not read messages on its "
			       "input");
	if (x->subprocess.input.n > INPUT_MANY)
		return err_set(e, ERR_BUSY,
			       "the command has stopped reading its input");
	return 0;
}

static void exec_on_message(struct run *r, const struct msg *m)
{
	struct exec *x = r->state;
	struct err ignored; /* it was decoded, so it can be encoded */

	if (!x || x->subprocess.child.in < 0 || x->subprocess.input_ends)
		return;
	if (msg_encode(m, &x->subprocess.input, &ignored) == 0)
		buf_addc(&x->subprocess.input, '\n');
	subprocess_write(&x->subprocess);
}

const struct driver driver_exec = {
	.name = "exec",
	.commands = true,
	.plain_box = true,
	.run = exec_run,
	.accepts = exec_accepts,
	.on_message = exec_on_message,
};
