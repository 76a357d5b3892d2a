#include "worker/driver/chat/exec.h"

#include "lib/base/clock.h"
#include "lib/os/process_tree.h"
#include "worker/process/child.h"
#include "worker/process/command.h"
#include "worker/process/oom.h"
#include "worker/process/orphans.h"
#include "worker/workspace/workspace.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_MS  1000000
#define READ_BYTES 16384

#define MARKS 256 /* bytes of what is added to the output */

/* The output of a command: its beginning and its end. The end of a long output
 * usually contains the reason of a failure. */
struct printed {
	struct buf head, tail;
	size_t half; /* bytes of each */
	size_t left_out;
};

static void printed_init(struct printed *p, const struct chat_limits *l)
{
	size_t max = (size_t)l->tool_output;

	*p = (struct printed){.half = (max > 4 * MARKS ? max - MARKS : max) /
				      2};
	buf_init(&p->head, p->half + 1);
	buf_init(&p->tail, 2 * p->half + READ_BYTES + 1);
}

static void printed_add(struct printed *p, const char *bytes, size_t n)
{
	size_t room = p->half - p->head.n, first = n < room ? n : room;

	buf_add(&p->head, bytes, first);
	buf_add(&p->tail, bytes + first, n - first);
	if (p->tail.n > 2 * p->half) {
		p->left_out += p->tail.n - p->half;
		buf_drop(&p->tail, p->tail.n - p->half);
	}
}

static void printed_end(struct printed *p, struct buf *out)
{
	if (p->tail.n > p->half) {
		p->left_out += p->tail.n - p->half;
		buf_drop(&p->tail, p->tail.n - p->half);
	}
	buf_add(out, p->head.p, p->head.n);
	if (p->left_out)
		buf_addf(out, "\n[… %zu bytes left out …]\n", p->left_out);
	buf_add(out, p->tail.p, p->tail.n);
	buf_fini(&p->head);
	buf_fini(&p->tail);
}

/* Reads available output; closes at its end. */
static void read_pipe(int *fd, struct printed *out)
{
	char bytes[READ_BYTES];
	ssize_t n = read(*fd, bytes, sizeof bytes);

	if (n > 0)
		printed_add(out, bytes, (size_t)n);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	close(*fd);
	*fd = -1;
}

static int attend(struct run *r, struct child *c, int64_t until,
		  struct printed *out, struct err *e)
{
	while (r->child_status == RUN_NO_STATUS && clock_mono_ns() < until) {
		struct pollfd p[2] = {{.fd = c->out, .events = POLLIN},
				      {.fd = c->err, .events = POLLIN}};
		int64_t left = (until - clock_mono_ns()) / NS_PER_MS + 1;

		if (run_ending(r))
			return err_set(e, ERR_CANCELED,
				       "the command was ended");
		if (run_poll(r, p, 2, left, e))
			return -1;
		if (p[0].revents)
			read_pipe(&c->out, out);
		if (p[1].revents)
			read_pipe(&c->err, out);
	}
	return 0;
}

static void drain(struct child *c, struct printed *out)
{
	int *fds[2] = {&c->out, &c->err};

	for (int i = 0; i < 2; i++) {
		struct pollfd p = {.fd = *fds[i], .events = POLLIN};

		while (*fds[i] >= 0 && poll(&p, 1, 0) > 0)
			read_pipe(fds[i], out);
	}
}

static void add_status(struct run *r, bool late, int leftovers, struct buf *out)
{
	int status = r->child_status;

	if (out->n && out->p[out->n - 1] != '\n')
		buf_addc(out, '\n');
	if (leftovers > 0 && !late)
		buf_addf(out, "[%d left running, and ended]\n", leftovers);
	if (late)
		buf_adds(out, "[ended: it took too long]");
	else if (WIFSIGNALED(status))
		buf_addf(out, "[ended by signal %d, %s]", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		buf_addf(out, "[exit code %d]", WEXITSTATUS(status));
	if (oom_occurred(r))
		buf_adds(out, "\n[the kernel ended a process of it: it took "
			      "more memory than it may]");
}

static int count_leftovers(struct run *r)
{
	struct buf names = BUF_MAX(4096);
	int n = 0;

	if (!tree_reap(r->child, &r->child_status))
		n = orphans_list(&names);
	buf_fini(&names);
	return n;
}

int chat_exec(struct run *r, const struct chat_limits *l, const char *command,
	      struct buf *out, struct err *e)
{
	int64_t until = clock_mono_ns() + l->exec_timeout_ms * NS_PER_MS;
	struct exec_config config = {.cwd = r->workspace->dir};
	cJSON *v = cJSON_CreateObject();
	struct child_spec spec = {.cwd = config.cwd,
				  .ns = workspace_ns(r->workspace),
				  .sandbox = r->sandbox};
	struct printed printed;
	struct child child;
	struct err left;
	int rc, leftovers;
	bool late;

	cJSON_AddStringToObject(v, "shell", command);
	rc = workspace_commands(r->workspace, e) ||
			     exec_config_command(&config, v, r->start,
						 &r->arena, e)
		     ? -1
		     : 0;
	cJSON_Delete(v);
	spec.argv = config.argv;
	spec.env = config.env;
	r->child_status = RUN_NO_STATUS;
	if (rc || child_start(&child, &spec, e))
		return -1;
	r->child = child.pid;
	close(child.in);
	child.in = -1;
	printed_init(&printed, l);
	rc = attend(r, &child, until, &printed, e);
	late = r->child_status == RUN_NO_STATUS;
	leftovers = count_leftovers(r);
	if (tree_end(0, r->child, &r->child_status, &left) && rc == 0) {
		*e = left;
		rc = -1;
	}
	drain(&child, &printed);
	child_close(&child);
	printed_end(&printed, out);
	add_status(r, late, leftovers, out);
	r->child = 0;
	return rc;
}
