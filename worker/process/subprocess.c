#include "worker/process/subprocess.h"

#include "lib/base/text.h"
#include "lib/os/process_tree.h"
#include "worker/run/diagnose.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES  (64u << 10)
#define EX_TEMPFAIL 75

void subprocess_init(struct subprocess *t, struct run *r)
{
	*t = (struct subprocess){.run = r,
				 .child = {.in = -1, .out = -1, .err = -1}};
	buf_init(&t->input, SUBPROCESS_INPUT_MAX);
	exec_output_init(&t->output, r);
}

void subprocess_fini(struct subprocess *t)
{
	child_close(&t->child);
	exec_output_fini(&t->output);
	buf_fini(&t->input);
}

int subprocess_start(struct subprocess *t, const struct child_spec *spec,
		     struct run_end *end)
{
	struct err e;

	if (child_start(&t->child, spec, &e) == 0) {
		t->run->child = t->child.pid;
		diagnose_command(t->run, spec, NULL);
		return 1;
	}
	diagnose_command(t->run, spec, e.text);
	end->reason = e.code == ERR_NOTFOUND  ? REASON_command_not_found
		      : e.code == ERR_DENIED  ? REASON_not_executable
		      : e.code == ERR_INVALID ? REASON_workspace
					      : REASON_driver_error;
	text_fit(end->detail, sizeof end->detail, e.text);
	return 0;
}

void subprocess_close_input(struct subprocess *t)
{
	if (t->child.in >= 0)
		close(t->child.in);
	t->child.in = -1;
	buf_clear(&t->input);
}

void subprocess_write(struct subprocess *t)
{
	ssize_t n;

	if (t->child.in < 0)
		return;
	n = t->input.n ? write(t->child.in, t->input.p, t->input.n) : 0;
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		subprocess_close_input(t); /* it may have closed its stdin */
		return;
	}
	if (n > 0)
		buf_drop(&t->input, (size_t)n);
	if (t->input.n == 0 && t->input_ends)
		subprocess_close_input(t);
}

/* One read of one stream; closes it at its end. */
static int read_output(struct subprocess *t, int *fd, struct err *e)
{
	char bytes[READ_BYTES];
	ssize_t n = read(*fd, bytes, sizeof bytes);

	if (n > 0 && fd == &t->child.err)
		return exec_output_add(&t->output, true, bytes, (size_t)n, e);
	if (n > 0)
		return t->on_output(t->arg, bytes, (size_t)n, e);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	close(*fd);
	*fd = -1;
	return 0;
}

int subprocess_poll(struct subprocess *t, int more, int64_t ms, struct err *e)
{
	struct pollfd p[4] = {
		{.fd = t->child.out, .events = POLLIN},
		{.fd = t->child.err, .events = POLLIN},
		{.fd = t->input.n ? t->child.in : -1, .events = POLLOUT},
		{.fd = more, .events = POLLIN},
	};

	if (exec_output_commit(&t->output, &ms, e) ||
	    run_poll(t->run, p, 4, ms, e))
		return -1;
	if (p[0].revents && read_output(t, &t->child.out, e))
		return -1;
	if (p[1].revents && read_output(t, &t->child.err, e))
		return -1;
	if (p[2].revents)
		subprocess_write(t);
	return 0;
}

int subprocess_drain(struct subprocess *t, struct err *e)
{
	int *fds[2] = {&t->child.out, &t->child.err};

	for (int i = 0; i < 2; i++) {
		struct pollfd p = {.fd = *fds[i], .events = POLLIN};

		while (*fds[i] >= 0 && poll(&p, 1, 0) > 0)
			if (read_output(t, fds[i], e))
				return -1;
	}
	return exec_output_end(&t->output,
			       run_ending(t->run) ? "aborted" : "done", e);
}

void subprocess_outcome(const struct subprocess *t, int status,
			struct run_end *end)
{
	const char *last = t->output.last_err;

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
