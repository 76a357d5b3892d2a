/*
 * exec: any command. The prompt goes to its stdin, its output becomes events
 * (worker/exec_line.h), its end the end of the run. When the run shall end it
 * gets SIGTERM, and as long as the grace time lasts what it still says is kept.
 */
#include "base/clock.h"
#include "base/json.h"
#include "schema/history.h"
#include "worker/child.h"
#include "worker/driver.h"
#include "worker/exec_config.h"
#include "worker/exec_output.h"
#include "worker/tree.h"
#include "worker/workspace.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_MS   1000000
#define READ_BYTES  (64u << 10)
#define INPUT_MAX   (8u << 20) /* that the command has not read yet */
#define EX_TEMPFAIL 75

struct exec {
	struct run *run;
	struct exec_config config;
	struct child child;
	struct exec_output output;
	struct buf input; /* not written yet */
	bool input_ends;  /* close when written */
	bool told_to_end;
	int64_t kill_at; /* clock_mono_ns, when told_to_end */
};

/* Earlier messages of the session, oldest first. */
static int add_context(struct exec *x, struct buf *b, struct err *e)
{
	struct ledger *j = &x->run->ledger;
	struct arena a = {0};
	struct history h;
	struct page page = {0};
	int rc;

	rc = history_load(&j->file, j->writer.session, HISTORY_MODEL, &h, &a,
			  e);
	if (rc == 0 && x->config.context > 0)
		rc = history_backward(&j->file, &h, 0,
				      (int)x->config.context + 2, &page, &a, e);
	buf_adds(b, ",\"context\":[");
	for (int i = page.count - 1, n = 0; i >= 0 && rc == 0; i--) {
		const struct event *ev = &page.events[i];

		if (strcmp(ev->type, "message") != 0 ||
		    (ev->run && strcmp(ev->run, x->run->start->run) == 0))
			continue;
		buf_addf(b, "%s{\"seq\":%" PRId64 ",\"body\":%s}",
			 n++ ? "," : "", ev->seq, ev->body);
	}
	buf_addc(b, ']');
	arena_fini(&a);
	return rc;
}

static void add_member(struct buf *b, const char *name, const char *text)
{
	if (!text)
		return;
	buf_addf(b, ",\"%s\":", name);
	json_add_string(b, text, strlen(text));
}

static int prompt_line(struct exec *x, struct err *e)
{
	const struct msg_start *s = x->run->start;
	struct buf *b = &x->input;

	buf_adds(b, "{\"type\":\"prompt\"");
	add_member(b, "run", s->run);
	buf_addf(b, ",\"attempt\":%" PRId64, s->attempt);
	add_member(b, "agent", s->agent);
	add_member(b, "session", s->session);
	add_member(b, "workspace", x->config.cwd);
	add_member(b, "prompt", s->prompt);
	if (add_context(x, b, e))
		return -1;
	buf_adds(b, "}\n");
	return buf_ok(b, "prompt", e);
}

static int first_input(struct exec *x, struct err *e)
{
	x->input_ends = x->config.in != STDIN_LINES;
	if (x->config.in == STDIN_TEXT)
		buf_adds(&x->input, x->run->start->prompt);
	else if (x->config.in != STDIN_NONE)
		return prompt_line(x, e);
	return buf_ok(&x->input, "prompt", e);
}

static void close_input(struct exec *x)
{
	if (x->child.in >= 0)
		close(x->child.in);
	x->child.in = -1;
	buf_clear(&x->input);
}

static void write_input(struct exec *x)
{
	ssize_t n;

	if (x->child.in < 0)
		return;
	n = x->input.n ? write(x->child.in, x->input.p, x->input.n) : 0;
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		close_input(x); /* it does not listen, which it may */
		return;
	}
	if (n > 0)
		buf_drop(&x->input, (size_t)n);
	if (x->input.n == 0 && x->input_ends)
		close_input(x);
}

/* One read of one stream; closes it at its end. */
static int read_output(struct exec *x, int *fd, bool is_err, struct err *e)
{
	char bytes[READ_BYTES];
	ssize_t n = read(*fd, bytes, sizeof bytes);

	if (n > 0)
		return exec_output_add(&x->output, is_err, bytes, (size_t)n, e);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	close(*fd);
	*fd = -1;
	return 0;
}

/* SIGTERM, once; the tree is killed after the grace time. */
static void tell_to_end(struct exec *x)
{
	int64_t grace = x->run->start->grace_ms;
	char why[CONTROL_WHY];

	if (x->told_to_end || !run_ending(x->run))
		return;
	(void)control_reason(&x->run->control, why, &grace);
	x->told_to_end = true;
	x->kill_at = clock_mono_ns() + grace * NS_PER_MS;
	close_input(x);
	tree_signal(SIGTERM);
	tree_signal(SIGCONT); /* it may be paused */
}

static int64_t wait_ms(const struct exec *x)
{
	int64_t left = (x->kill_at - clock_mono_ns()) / NS_PER_MS + 1;

	return !x->told_to_end ? 60000 : left > 0 ? left : 0;
}

static bool over(const struct exec *x)
{
	return x->run->child_status != RUN_NO_STATUS ||
	       (x->told_to_end && clock_mono_ns() >= x->kill_at);
}

/* A paused command writes nothing, but what is in the pipe is taken. */
static int serve(struct exec *x, struct err *e)
{
	while (!over(x)) {
		struct pollfd p[3] = {
			{.fd = x->child.out, .events = POLLIN},
			{.fd = x->child.err, .events = POLLIN},
			{.fd = x->input.n ? x->child.in : -1,
			 .events = POLLOUT},
		};
		int64_t ms = wait_ms(x);

		if (exec_output_commit(&x->output, &ms, e) ||
		    run_poll(x->run, p, 3, ms, e))
			return -1;
		if (p[0].revents && read_output(x, &x->child.out, false, e))
			return -1;
		if (p[1].revents && read_output(x, &x->child.err, true, e))
			return -1;
		if (p[2].revents)
			write_input(x);
		tell_to_end(x);
	}
	return 0;
}

/* Nobody is left to write: what is in the pipes is all there will be. */
static int drain(struct exec *x, struct err *e)
{
	int *fds[2] = {&x->child.out, &x->child.err};

	for (int i = 0; i < 2; i++) {
		struct pollfd p = {.fd = *fds[i], .events = POLLIN};

		while (*fds[i] >= 0 && poll(&p, 1, 0) > 0)
			if (read_output(x, fds[i], i == 1, e))
				return -1;
	}
	return exec_output_end(&x->output,
			       run_ending(x->run) ? "aborted" : "done", e);
}

static void judge(const struct exec *x, int status, struct run_end *end)
{
	const char *last = x->output.last_err;

	if (WIFSIGNALED(status)) {
		end->reason = REASON_signal;
		end->signal = WTERMSIG(status);
		snprintf(end->detail, sizeof end->detail,
			 "the command was ended by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
		return;
	}
	end->exit_code = WEXITSTATUS(status);
	end->reason = end->exit_code == 0             ? REASON_completed
		      : end->exit_code == EX_TEMPFAIL ? REASON_exit_temporary
						      : REASON_exit_code;
	if (end->exit_code)
		snprintf(end->detail, sizeof end->detail,
			 "the command ended with code %" PRId64 "%s%s",
			 end->exit_code, last[0] ? ": " : "", last);
}

/* From the start of the command until nothing of it is left. */
static int live(struct exec *x, struct run_end *end, struct err *e)
{
	struct run *r = x->run;
	struct err left;
	int rc;

	write_input(x);
	rc = serve(x, e);
	/* One that was told to end has had its time. */
	if (tree_end(x->told_to_end ? 0 : r->start->grace_ms, r->child,
		     &r->child_status, &left) &&
	    rc == 0) {
		*e = left;
		rc = -1;
	}
	if (rc || drain(x, e))
		return -1;
	if (run_ending(r))
		return err_set(e, ERR_CANCELED, "the command was ended");
	judge(x, r->child_status, end);
	return 0;
}

static int could_not_start(struct run_end *end, const struct err *e)
{
	end->reason = e->code == ERR_NOTFOUND  ? REASON_command_not_found
		      : e->code == ERR_DENIED  ? REASON_not_executable
		      : e->code == ERR_INVALID ? REASON_workspace
					       : REASON_driver_error;
	snprintf(end->detail, sizeof end->detail, "%.470s", e->text);
	return 0;
}

static int command(struct exec *x, struct run_end *end, struct err *e)
{
	struct child_spec spec = {x->config.argv, x->config.env, x->config.cwd,
				  workspace_ns(x->run->workspace)};
	struct err why;

	if (first_input(x, e))
		return -1;
	if (child_start(&x->child, &spec, &why))
		return could_not_start(end, &why);
	x->run->child = x->child.pid;
	return live(x, end, e);
}

static int exec_run(struct run *r, struct run_end *end, struct err *e)
{
	struct exec *x = arena_alloc(&r->arena, sizeof *x);
	int rc;

	*x = (struct exec){.run = r, .child = {.in = -1, .out = -1, .err = -1}};
	if (workspace_open(r, e) ||
	    exec_config_read(&x->config, r->start, r->workspace->dir, &r->arena,
			     e))
		return -1;
	r->state = x;
	buf_init(&x->input, INPUT_MAX);
	exec_output_init(&x->output, r);
	rc = command(x, end, e);
	child_close(&x->child);
	exec_output_fini(&x->output);
	buf_fini(&x->input);
	r->state = NULL;
	return rc;
}

static int exec_takes(struct run *r, struct err *e)
{
	struct exec *x = r->state;

	if (!x || x->child.in < 0 || x->input_ends)
		return err_set(e, ERR_CONFLICT,
			       "the command does not read messages on its "
			       "input");
	if (x->input.n > INPUT_MAX / 2)
		return err_set(e, ERR_BUSY,
			       "the command has not read its input for long");
	return 0;
}

static void exec_told(struct run *r, const struct msg *m)
{
	struct exec *x = r->state;
	struct err ignored; /* it was decoded: it encodes */

	if (!x || x->child.in < 0 || x->input_ends)
		return;
	if (msg_encode(m, &x->input, &ignored) == 0)
		buf_addc(&x->input, '\n');
	write_input(x);
}

const struct driver driver_exec = {
	.name = "exec",
	.run = exec_run,
	.takes = exec_takes,
	.told = exec_told,
};
