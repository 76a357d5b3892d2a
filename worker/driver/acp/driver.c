/*
 * acp: an agent that speaks the Agent Client Protocol on its stdio. The run's
 * prompt is one turn, each later message another one; the run ends with the
 * last turn, and the agent ends with it or, if it is kept, later. When the run
 * is to end, the agent is asked to cancel its turn and has half of the grace
 * period to confirm; the rest is for its processes.
 */
#include "lib/base/clock.h"
#include "lib/os/process_tree.h"
#include "worker/driver/acp/acp.h"
#include "worker/driver/acp/mcp_permission.h"
#include "worker/run/diagnose.h"
#include "worker/workspace/workspace.h"

#include <sys/epoll.h>
#include <unistd.h>

#define NS_PER_MS 1000000

static int on_update(struct rpc *r, const struct rpc_request *request,
		     struct err *e)
{
	struct acp *x = r->owner;
	const cJSON *u = cJSON_GetObjectItemCaseSensitive(request->params,
							  "update");

	return x->replaying || !cJSON_IsObject(u) ? 0 : acp_update(x, u, e);
}

static const struct rpc_method methods[] = {
	{"session/update", false, on_update},
	{"session/request_permission", true, acp_on_permission},
	{"fs/read_text_file", true, acp_on_read},
	{"fs/write_text_file", true, acp_on_write},
	{"terminal/create", true, acp_on_terminal_create},
	{"terminal/output", true, acp_on_terminal_output},
	{"terminal/wait_for_exit", true, acp_on_terminal_wait},
	{"terminal/kill", true, acp_on_terminal_kill},
	{"terminal/release", true, acp_on_terminal_release},
};

/* A line on stdout that is not a message: some agents print these. A message
 * over the limit comes in pieces of that size. */
static int on_noise(struct rpc *r, const char *p, size_t n, struct err *e)
{
	struct acp *x = r->owner;

	if (n == RPC_LINE_MAX && p[0] == '{' &&
	    transcript_add_text(&x->run->transcript, "error", e,
				"a message of the agent is over the limit of "
				"%u bytes: it was not handled, and its bytes "
				"are kept as output",
				RPC_LINE_MAX))
		return -1;
	diagnose_line(x->run, "no JSON-RPC", p, n);
	return exec_output_add(&x->subprocess.output, true, p, n, e) ||
			       exec_output_add(&x->subprocess.output, true,
					       "\n", 1, e)
		       ? -1
		       : 0;
}

static int on_output(void *arg, const char *p, size_t n, struct err *e)
{
	struct acp *x = arg;
	int rc = rpc_feed(&x->rpc, p, n, e);

	x->output_at = clock_mono_ns();
	subprocess_write(&x->subprocess);
	return rc;
}

/* Until the last turn is complete, the agent has exited, or its time is up. */
static int serve_agent(struct acp *x, struct err *e)
{
	struct run *r = x->run;
	int64_t grace = r->start->grace_ms, until = 0;
	char why[COMMANDS_WHY];

	while (!x->over && r->child_status == RUN_NO_STATUS) {
		int64_t ms = 60000;

		if (acp_continue(x, &ms, e))
			return -1;
		if (x->over)
			break;
		if (run_ending(r) && !x->cancelling) {
			(void)commands_reason(&r->commands, why, &grace);
			until = clock_mono_ns() + grace * NS_PER_MS / 2;
			acp_cancel(x);
			subprocess_write(&x->subprocess);
		}
		if (x->cancelling)
			ms = (until - clock_mono_ns()) / NS_PER_MS + 1;
		if (x->cancelling && (ms <= 0 || !x->prompted))
			break;
		if (subprocess_poll(&x->subprocess, x->events, ms, e) ||
		    acp_mcp_poll(x, e) || acp_send_answers(x, e))
			return -1;
		acp_terminals_poll(x);
		subprocess_write(&x->subprocess);
	}
	return 0;
}

static int end_tree(struct acp *x, struct err *e)
{
	struct run *r = x->run;
	int64_t grace = r->start->grace_ms;
	char why[COMMANDS_WHY];

	if (run_ending(r)) {
		(void)commands_reason(&r->commands, why, &grace);
		grace /= 2;
	}
	subprocess_close_input(&x->subprocess);
	return tree_end(grace, r->child, &r->child_status, e);
}

/* Serves an agent after a prompt was sent, until it ends or becomes idle. */
static int serve_run(struct acp *x, struct err *e)
{
	struct run *r = x->run;
	struct err left;
	int rc;
	bool died;

	subprocess_write(&x->subprocess);
	rc = serve_agent(x, e);
	if (rc == 0 && acp_may_idle(x))
		return acp_idle(x, e);
	x->over = x->over || x->done_at; /* it may exit after its last turn */
	died = r->child_status != RUN_NO_STATUS && !x->over;
	if (end_tree(x, &left) && rc == 0) {
		*e = left;
		rc = -1;
	}
	if (rc || subprocess_drain(&x->subprocess, e) ||
	    acp_close_calls(x, run_ending(r) ? "aborted" : "done", e) ||
	    (x->session && acp_session_save(x, e)))
		return -1;
	if (run_ending(r) && !(x->over && x->end->reason == REASON_completed))
		return err_set(e, ERR_CANCELED, "the agent was ended");
	if (died && !x->over) {
		subprocess_outcome(&x->subprocess, r->child_status, x->end);
		if (x->end->reason == REASON_completed)
			x->end->reason = REASON_agent_protocol;
	}
	return 0;
}

static int start_agent(struct acp *x, struct err *e)
{
	struct exec_config *c = &x->config.exec;
	struct run *r = x->run;
	struct child_spec spec;

	if (acp_mcp_open(x, e) || workspace_open(r, e) ||
	    acp_config_read(&x->config, r->start, r->workspace->dir, &r->arena,
			    e))
		return -1;
	spec = (struct child_spec){c->argv, c->env, c->cwd,
				   workspace_ns(r->workspace), r->sandbox};
	if (!subprocess_start(&x->subprocess, &spec, x->end))
		return 0;
	return acp_permissions_begin(x, e) || acp_files_begin(x, e) ||
			       acp_begin(x, e)
		       ? -1
		       : serve_run(x, e);
}

int acp_watch(struct acp *x, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};

	return epoll_ctl(x->events, EPOLL_CTL_ADD, fd, &ev);
}

void acp_init(struct acp *x, struct run *r, struct run_end *end)
{
	*x = (struct acp){.run = r, .end = end, .beneath.fd = -1};
	x->events = epoll_create1(EPOLL_CLOEXEC);
	subprocess_init(&x->subprocess, r);
	x->subprocess.on_output = on_output;
	x->subprocess.arg = x;
	rpc_init(&x->rpc, methods, sizeof methods / sizeof *methods,
		 &x->subprocess.input, x);
	x->rpc.noise = on_noise;
	buf_init(&x->login, 0);
	acp_add_prompt(x, r->start->prompt);
}

void acp_fini(struct acp *x)
{
	acp_drop_questions(x);
	acp_mcp_close(x);
	close(x->events);
	beneath_close(&x->beneath);
	rpc_fini(&x->rpc);
	subprocess_fini(&x->subprocess);
	buf_fini(&x->login);
}

static int go_on(struct acp *x, struct run_end *end, struct err *e)
{
	return acp_begin_next_run(x, end, e) ? -1 : serve_run(x, e);
}

/* Messages are accepted from the start: they wait for their turn. */
static int acp_run(struct run *r, struct run_end *end, struct err *e)
{
	struct acp *x = r->reuse;
	struct err left;
	int rc;

	r->reuse = NULL;
	if (x) {
		r->state = x;
		rc = go_on(x, end, e);
	} else {
		r->state = x = arena_alloc(&r->lasting, sizeof *x);
		acp_init(x, r, end);
		rc = start_agent(x, e);
	}
	if (acp_terminals_end(x, &left) && rc == 0) {
		*e = left;
		rc = -1;
	}
	r->state = NULL;
	r->reuse = x;
	if (rc == 0 && x->stays)
		r->idle_ms = x->config.idle_ms;
	return rc;
}

static void acp_release(struct run *r)
{
	struct acp *x = r->reuse;

	r->reuse = NULL;
	tree_unexempt(x->subprocess.child.pid);
	acp_fini(x);
}

static int acp_accepts(struct run *r, struct err *e)
{
	struct acp *x = r->state;

	if (!x || x->over)
		return err_set(e, ERR_CONFLICT,
			       "the agent has ended its last turn");
	return 0;
}

static void acp_on_message(struct run *r, const struct msg *m)
{
	struct acp *x = r->state;

	if (x && m->type == MSG_TYPE_MESSAGE)
		acp_add_prompt(x, m->u.message.text);
	else if (x && m->type == MSG_TYPE_ANSWER)
		acp_on_answer(x, &m->u.answer);
}

const struct driver driver_acp = {
	.name = "acp",
	.commands = true,
	.run = acp_run,
	.release = acp_release,
	.accepts = acp_accepts,
	.on_message = acp_on_message,
};
