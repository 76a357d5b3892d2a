#include "lib/base/text.h"
#include "lib/os/process_tree.h"
#include "worker/driver/acp/acp.h"
#include "worker/workspace/workspace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TERMINALS_MAX   32
#define ARGS_MAX        4096
#define OUTPUT_MAX_KEPT (1u << 20) /* unless the agent requests another limit */
#define OUTPUT_MAX      (8u << 20)
#define OUTPUT_SHOWN    (256u << 10) /* in the part of a tool call */
#define READ_BYTES      (64u << 10)
#define READS_MAX       16
#define WAITS_MAX       8

struct acp_terminal {
	struct acp_terminal *next;
	char id[32];
	const char *command; /* as a line, for users */
	struct child child;
	struct tree_watch watch;
	struct buf output; /* the last `limit` bytes */
	size_t limit;
	bool truncated;
	const char *waits[WAITS_MAX]; /* ids of requests that wait for its
				       * end */
	int nwaits;
};

/* --- their output ----------------------------------------------------- */

/* Keeps the end of the output, starting with a whole character. */
static void save_end(struct acp_terminal *t)
{
	size_t over = t->output.n > t->limit ? t->output.n - t->limit : 0;

	if (!over)
		return;
	while (over < t->output.n && (t->output.p[over] & 0xc0) == 0x80)
		over++;
	buf_drop(&t->output, over);
	t->truncated = true;
}

/* A command that prints endlessly must not block us. */
static void read_stream(struct acp_terminal *t, int *fd)
{
	ssize_t n = 1;

	for (int i = 0; i < READS_MAX && *fd >= 0 && n > 0; i++) {
		char *room = buf_room(&t->output, READ_BYTES);

		n = read(*fd, room, READ_BYTES);
		if (n > 0)
			buf_grew(&t->output, (size_t)n);
		save_end(t);
	}
	if (*fd >= 0 && n <= 0 && !(n < 0 && errno == EAGAIN)) {
		close(*fd); /* also removes it from epoll */
		*fd = -1;
	}
}

static void add_status(struct buf *b, const struct acp_terminal *t)
{
	int status = t->watch.status;
	char signal[24];

	json_begin_object(b);
	if (WIFSIGNALED(status)) {
		snprintf(signal, sizeof signal, "SIG%s",
			 sigabbrev_np(WTERMSIG(status)));
		json_put_null(b, "exitCode");
		json_put_text(b, "signal", signal);
	} else {
		json_put_int(b, "exitCode", WEXITSTATUS(status));
		json_put_null(b, "signal");
	}
	json_end_object(b);
}

static void answer_waits(struct acp *x, struct acp_terminal *t)
{
	struct buf b = BUF_MAX(256);

	add_status(&b, t);
	for (int i = 0; i < t->nwaits; i++)
		rpc_answer(&x->rpc, t->waits[i], b.p);
	t->nwaits = 0;
	buf_fini(&b);
}

void acp_terminals_poll(struct acp *x)
{
	for (struct acp_terminal *t = x->terminals; t; t = t->next) {
		bool ended = t->watch.ended; /* before its last output */

		read_stream(t, &t->child.out);
		read_stream(t, &t->child.err);
		if (ended && t->nwaits)
			answer_waits(x, t);
	}
}

/* --- starting --------------------------------------------------------- */

static int words_of(struct acp *x, const char *command, const cJSON *args,
		    char ***argv)
{
	struct arena *a = &x->run->arena;
	int n = cJSON_GetArraySize(args), i = 0;
	const cJSON *v;

	if (n > ARGS_MAX)
		return -1;
	*argv = arena_alloc(a, (size_t)(n + 2) * sizeof **argv);
	(*argv)[i++] = arena_text(a, command);
	cJSON_ArrayForEach(v, args)
	{
		if (!cJSON_IsString(v))
			return -1;
		(*argv)[i++] = arena_text(a, v->valuestring);
	}
	return 0;
}

/* The environment of the agent, with that of the request added. */
static int env_of(struct acp *x, const cJSON *list, char ***env)
{
	struct arena *a = &x->run->arena;
	char **own = x->config.exec.env;
	int n = cJSON_GetArraySize(list), i = 0;
	const cJSON *v;

	if (n > ARGS_MAX)
		return -1;
	for (int k = 0; own[k]; k++)
		n++;
	*env = arena_alloc(a, (size_t)(n + 1) * sizeof **env);
	cJSON_ArrayForEach(v, list)
	{
		const char *name = json_text(v, "name", NULL);
		const char *value = json_text(v, "value", NULL);

		if (!name || !name[0] || strchr(name, '=') || !value)
			return -1;
		(*env)[i++] = arena_printf(a, "%s=%s", name, value);
	}
	for (int k = 0; own[k]; k++)
		(*env)[i++] = own[k]; /* the first value of a name wins */
	return 0;
}

static const char *line_of(struct acp *x, char *const *argv)
{
	struct buf b = BUF_MAX(SIZE_MAX / 2); /* rules apply to all of it */
	const char *line;

	for (int i = 0; argv[i]; i++)
		buf_addf(&b, "%s%s", i ? " " : "", argv[i]);
	line = arena_text(&x->run->arena, b.p);
	buf_fini(&b);
	return line;
}

static int start_command(struct acp *x, struct acp_terminal *t,
			 const struct child_spec *spec, struct err *e)
{
	if (child_start(&t->child, spec, e))
		return -1;
	close(t->child.in); /* there is no terminal input */
	t->child.in = -1;
	tree_watch(&t->watch, t->child.pid);
	if (acp_watch(x, t->child.out) || acp_watch(x, t->child.err))
		return err_errno_set(e, "epoll");
	return 0;
}

static int count_terminals(const struct acp *x)
{
	int n = 0;

	for (const struct acp_terminal *t = x->terminals; t; t = t->next)
		n++;
	return n;
}

static void add_terminal(struct acp *x, const struct rpc_request *request,
			 const struct child_spec *spec, const char *line)
{
	struct acp_terminal *t = arena_alloc(&x->run->arena, sizeof *t);
	int64_t limit = json_i64(request->params, "outputByteLimit",
				 OUTPUT_MAX_KEPT);
	struct buf answer = BUF_MAX(256);
	struct err e;

	*t = (struct acp_terminal){.command = line,
				   .limit = limit < 0 ? OUTPUT_MAX_KEPT
					    : limit > OUTPUT_MAX
						    ? OUTPUT_MAX
						    : (size_t)limit};
	buf_init(&t->output, OUTPUT_MAX + 2 * READ_BYTES);
	if (start_command(x, t, spec, &e)) {
		rpc_refuse(&x->rpc, request->id, RPC_INTERNAL, e.text);
		buf_fini(&t->output);
		return;
	}
	snprintf(t->id, sizeof t->id, "term-%d", ++x->terminal_last);
	t->next = x->terminals;
	x->terminals = t;
	json_begin_object(&answer);
	json_put_text(&answer, "terminalId", t->id);
	json_end_object(&answer);
	rpc_answer(&x->rpc, request->id, answer.p);
	buf_fini(&answer);
}

int acp_on_terminal_create(struct rpc *r, const struct rpc_request *request,
			   struct err *e)
{
	struct acp *x = r->owner;
	const cJSON *p = request->params;
	const char *command = json_text(p, "command", "");
	char **argv, **env;
	struct child_spec spec = {
		.cwd = json_text(p, "cwd", x->run->workspace->dir),
		.ns = workspace_ns(x->run->workspace),
		.sandbox = x->run->sandbox};
	struct permission_subject s = {.kind = "execute", .title = ""};

	(void)e;
	if (!command[0] || spec.cwd[0] != '/' ||
	    words_of(x, command, cJSON_GetObjectItem(p, "args"), &argv) ||
	    env_of(x, cJSON_GetObjectItem(p, "env"), &env)) {
		rpc_refuse(r, request->id, RPC_PARAMS,
			   "command, args, env or cwd is not right");
		return 0;
	}
	spec.argv = argv;
	spec.env = env;
	s.command = line_of(x, argv);
	if (!acp_permit(x, request, &s, acp_on_terminal_create))
		return 0;
	if (count_terminals(x) >= TERMINALS_MAX)
		rpc_refuse(r, request->id, RPC_INTERNAL,
			   "there are too many terminals: release some");
	else
		add_terminal(x, request, &spec, s.command);
	return 0;
}

/* --- the other requests ----------------------------------------------- */

/* NULL: the request was rejected. */
static struct acp_terminal *find_terminal(struct acp *x,
					  const struct rpc_request *request)
{
	const char *id = json_text(request->params, "terminalId", "");
	struct acp_terminal *t = x->terminals;

	while (t && strcmp(t->id, id) != 0)
		t = t->next;
	if (!t)
		rpc_refuse(&x->rpc, request->id, RPC_NOT_FOUND,
			   "there is no such terminal");
	return t;
}

/* The output without its first `skip` bytes, and the exit status. */
static void put_output(struct buf *b, const struct acp_terminal *t, size_t skip)
{
	json_key(b, "output");
	json_add_string(b, t->output.p + skip, t->output.n - skip);
	json_put_bool(b, "truncated", t->truncated || skip > 0);
	if (t->watch.ended) {
		json_key(b, "exitStatus");
		add_status(b, t);
	}
}

int acp_on_terminal_output(struct rpc *r, const struct rpc_request *request,
			   struct err *e)
{
	struct acp *x = r->owner;
	struct acp_terminal *t = find_terminal(x, request);
	struct buf b = BUF_MAX(8 * OUTPUT_MAX);

	(void)e;
	if (!t)
		return 0;
	acp_terminals_poll(x);
	json_begin_object(&b);
	put_output(&b, t, 0);
	json_end_object(&b);
	rpc_answer(r, request->id, b.p);
	buf_fini(&b);
	return 0;
}

int acp_on_terminal_wait(struct rpc *r, const struct rpc_request *request,
			 struct err *e)
{
	struct acp *x = r->owner;
	struct acp_terminal *t = find_terminal(x, request);

	(void)e;
	if (!t)
		return 0;
	if (t->nwaits == WAITS_MAX) {
		rpc_refuse(r, request->id, RPC_INTERNAL,
			   "too many wait for it");
		return 0;
	}
	t->waits[t->nwaits++] = arena_text(&x->run->arena, request->id);
	acp_terminals_poll(x);
	return 0;
}

/* Signals the whole process group: a command in a shell consists of several
 * processes. The group exists as long as its leader was not reaped. */
static void kill_group(const struct acp_terminal *t)
{
	if (!t->watch.ended)
		(void)kill(-t->child.pid, SIGKILL);
}

int acp_on_terminal_kill(struct rpc *r, const struct rpc_request *request,
			 struct err *e)
{
	struct acp_terminal *t = find_terminal(r->owner, request);

	(void)e;
	if (!t)
		return 0;
	kill_group(t);
	rpc_answer(r, request->id, "{}");
	return 0;
}

/* The final output is stored in the transcript. */
static int note_result(struct acp *x, const struct acp_terminal *t,
		       struct err *e)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	struct event_new ev = {.type = "tool_result", .parent = WRITER_LEAF};
	int rc;

	json_begin_object(&b);
	json_put_text(&b, "terminal", t->id);
	json_put_text(&b, "command", t->command);
	put_output(&b, t, 0);
	json_end_object(&b);
	if (b.over) { /* bytes that take six characters each in JSON */
		buf_clear(&b);
		b.over = false;
		json_begin_object(&b);
		json_put_text(&b, "terminal", t->id);
		json_put_bool(&b, "truncated", true);
		json_end_object(&b);
	}
	ev.body = b.p;
	rc = transcript_add(&x->run->transcript, &ev, 1, NULL, e);
	buf_fini(&b);
	return rc;
}

/* The output of a terminal as shown in a tool call: its end, and the exit
 * status. */
static void add_shown(struct buf *b, const struct acp_terminal *t)
{
	size_t skip = t->output.n > OUTPUT_SHOWN ? t->output.n - OUTPUT_SHOWN
						 : 0;

	while (skip < t->output.n && (t->output.p[skip] & 0xc0) == 0x80)
		skip++;
	json_begin_object(b);
	json_put_text(b, "terminalId", t->id);
	put_output(b, t, skip);
	json_end_object(b);
}

static void save_shown(struct acp *x, const struct acp_terminal *t)
{
	struct acp_released *r = arena_alloc(&x->run->arena, sizeof *r);
	struct buf b = BUF_MAX(8 * OUTPUT_SHOWN);

	add_shown(&b, t);
	*r = (struct acp_released){x->released,
				   arena_text(&x->run->arena, t->id),
				   arena_text(&x->run->arena, b.p)};
	x->released = r;
	buf_fini(&b);
}

bool acp_terminal_shown(struct acp *x, const char *id, struct buf *out)
{
	acp_terminals_poll(x);
	for (const struct acp_terminal *t = x->terminals; t; t = t->next)
		if (strcmp(t->id, id) == 0) {
			add_shown(out, t);
			return true;
		}
	for (const struct acp_released *r = x->released; r; r = r->next)
		if (strcmp(r->id, id) == 0) {
			json_add_raw(out, r->shown);
			return true;
		}
	return false;
}

static int release(struct acp *x, struct acp_terminal *t, struct err *e)
{
	struct acp_terminal **at = &x->terminals;
	int rc;

	acp_terminals_poll(x);
	kill_group(t);
	rc = note_result(x, t, e);
	save_shown(x, t);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	tree_unwatch(&t->watch);
	child_close(&t->child);
	buf_fini(&t->output);
	return rc;
}

int acp_on_terminal_release(struct rpc *r, const struct rpc_request *request,
			    struct err *e)
{
	struct acp_terminal *t = find_terminal(r->owner, request);

	if (!t)
		return 0;
	if (release(r->owner, t, e))
		return -1;
	rpc_answer(r, request->id, "{}");
	return 0;
}

int acp_terminals_end(struct acp *x, struct err *e)
{
	int rc = 0;

	while (x->terminals)
		if (release(x, x->terminals, rc ? &(struct err){0} : e))
			rc = -1;
	return rc;
}
