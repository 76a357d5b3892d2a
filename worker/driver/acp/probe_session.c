/* The exchange with an agent under test, and its result. */
#include "worker/driver/acp/probe.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/jsonrpc.h"
#include "worker/process/child.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS_PER_MS  1000000
#define OUT_MAX    (1u << 20)
#define LAST_BYTES 400
#define POLL_MS    200 /* whether it is still running */

/* The end of a text that arrives in pieces. */
struct tail {
	char text[LAST_BYTES + 1];
	size_t n;
};

struct attempt {
	struct child child;
	struct rpc rpc;
	struct buf out;
	int64_t until; /* clock_mono_ns */
	bool replied;
	char session[256];
	cJSON *result; /* NULL: rejected */
	int64_t code;
	char why[512];
	struct tail printed; /* on stderr */
	struct tail answer;  /* in the conversation */
	char key_login[64];  /* from acp_key_login; may be empty */
};

static int on_reply(struct rpc *r, const struct rpc_reply *reply, struct err *e)
{
	struct attempt *t = r->owner;
	const char *more = cJSON_GetStringValue(reply->data);

	(void)e;
	t->replied = true;
	cJSON_Delete(t->result);
	t->result = reply->result ? cJSON_Duplicate(reply->result, true) : NULL;
	t->code = reply->code;
	if (!more)
		more = json_text(reply->data, "details", NULL);
	text_printf(t->why, sizeof t->why, "%s%s%s",
		    quoted(reply->message).text, more ? ": " : "",
		    more ? more : "");
	return 0;
}

static void tail_add(struct tail *t, const char *p, size_t n)
{
	if (n > LAST_BYTES) {
		p += n - LAST_BYTES;
		n = LAST_BYTES;
	}
	if (t->n + n > LAST_BYTES) {
		size_t drop = t->n + n - LAST_BYTES;

		memmove(t->text, t->text + drop, t->n - drop);
		t->n -= drop;
	}
	memcpy(t->text + t->n, p, n);
	t->n += n;
	t->text[t->n] = '\0';
}

/* Without trailing white space. */
static const char *tail_text(struct tail *t)
{
	while (t->n > 0 && strchr("\r\n\t ", t->text[t->n - 1]))
		t->text[--t->n] = '\0';
	return t->text;
}

/* -1 at the end of the stream. */
static int read_messages(struct attempt *t, int fd, struct err *e)
{
	char bytes[8192];
	ssize_t n = read(fd, bytes, sizeof bytes);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	if (fd == t->child.err)
		tail_add(&t->printed, bytes, (size_t)n);
	else
		(void)rpc_feed(&t->rpc, bytes, (size_t)n, e);
	return 0;
}

static void write_some(struct attempt *t)
{
	ssize_t n = t->out.n ? write(t->child.in, t->out.p, t->out.n) : 0;

	if (n > 0)
		buf_drop(&t->out, (size_t)n);
	else if (n < 0 && errno == EPIPE)
		buf_clear(&t->out); /* the result is not used */
}

/* Processes that it started may keep its output open. */
static bool is_dead(const struct attempt *t)
{
	siginfo_t i = {0};

	return waitid(P_PID, (id_t)t->child.pid, &i,
		      WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       i.si_pid != 0;
}

/* Reads available output, and waits for it up to this time. -1: the agent has
 * exited. */
static int read_agent(struct attempt *t, int ms)
{
	bool dead = is_dead(t); /* then its output is complete */
	struct pollfd p[3] = {
		{.fd = t->child.out, .events = POLLIN},
		{.fd = t->child.err, .events = POLLIN},
		{.fd = t->out.n ? t->child.in : -1, .events = POLLOUT},
	};
	struct err ignored;
	int n = poll(p, 3, dead ? 0 : ms);

	if (n <= 0)
		return dead || (n < 0 && errno != EINTR) ? -1 : 0;
	if (p[2].revents)
		write_some(t);
	if (p[1].revents && read_messages(t, t->child.err, &ignored))
		t->child.err = -1;
	return p[0].revents ? read_messages(t, t->child.out, &ignored) : 0;
}

/* An agent that retries a request to its provider may report it here. */
static void explain_silence(struct attempt *t)
{
	const char *answer = tail_text(&t->answer);
	const char *printed = tail_text(&t->printed);

	text_printf(t->why, sizeof t->why, "it does not answer%s%s",
		    *answer || *printed ? "; its last words: " : "",
		    *answer ? answer : printed);
}

/* Waits for the reply: 0; -1: the agent exited, or the time is up. */
static int await(struct attempt *t)
{
	while (!t->replied) {
		int64_t ms = (t->until - clock_mono_ns()) / NS_PER_MS;

		if (ms <= 0) {
			explain_silence(t);
			return -1;
		}
		if (read_agent(t, ms < POLL_MS ? (int)ms : POLL_MS))
			break;
	}
	return t->replied ? 0 : -1;
}

/* The probable reason why it exited. */
static void explain_end(struct attempt *t)
{
	int status = 0;
	pid_t pid = waitpid(t->child.pid, &status, WNOHANG);
	const char *last = tail_text(&t->printed);
	const char *sep = *last ? ": " : "";

	if (pid != t->child.pid)
		snprintf(t->why, sizeof t->why, "it closed its output%s%s", sep,
			 last);
	else if (WIFSIGNALED(status))
		snprintf(t->why, sizeof t->why, "it was ended by signal %d%s%s",
			 WTERMSIG(status), sep, last);
	else
		snprintf(t->why, sizeof t->why, "it ended with code %d%s%s",
			 WEXITSTATUS(status), sep, last);
}

/* Sends a request and waits: 0 with t->result, or -1 with t->why. */
static int call_agent(struct attempt *t, const char *method, const char *params)
{
	struct err e;

	t->replied = false;
	t->code = 0;
	t->why[0] = '\0';
	if (rpc_call(&t->rpc, method, params, on_reply, &e))
		return -1;
	if (await(t)) {
		if (!t->why[0]) {
			usleep(100000); /* it may still be exiting */
			explain_end(t);
		}
		return -1;
	}
	return t->result ? 0 : -1;
}

static void add_logins(struct buf *b, const cJSON *methods)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, methods)
	{
		const char *about = json_text(m, "description", NULL);

		buf_addf(b, "%s%s (\"auth\": \"%s\"%s%s)", b->n ? "; " : "",
			 quoted(json_text(m, "name", "?")).text,
			 quoted(json_text(m, "id", "")).text, about ? ", " : "",
			 about ? quoted(about).text : "");
	}
}

static int hello(struct attempt *t, const struct acp_config *c,
		 struct buf *logins)
{
	const cJSON *info, *can, *methods;
	const char *login;
	int64_t version;
	char text[512];

	if (call_agent(t, "initialize",
		       "{\"protocolVersion\":1,\"clientCapabilities\":{\"fs\":{"
		       "\"readTextFile\":false,\"writeTextFile\":false},"
		       "\"terminal\":"
		       "false},\"clientInfo\":{\"name\":\"skep\",\"version\":"
		       "\"" SKEP_VERSION "\"}}"))
		return probe_report("initialize", false, t->why);
	version = json_i64(t->result, "protocolVersion", -1);
	info = cJSON_GetObjectItemCaseSensitive(t->result, "agentInfo");
	can = cJSON_GetObjectItemCaseSensitive(t->result, "agentCapabilities");
	text_printf(text, sizeof text, "%s %s, protocol %" PRId64 "%s",
		    json_text(info, "name", "an agent"),
		    json_text(info, "version", ""), version,
		    json_bool(can, "loadSession", false)
			    ? ", can resume sessions"
			    : "");
	methods = cJSON_GetObjectItemCaseSensitive(t->result, "authMethods");
	add_logins(logins, methods);
	login = acp_key_login(c, methods);
	snprintf(t->key_login, sizeof t->key_login, "%s", login ? login : "");
	if (version != 1)
		snprintf(text, sizeof text,
			 "it speaks version %" PRId64
			 " of the protocol; skep speaks 1",
			 version);
	return probe_report("initialize", version == 1, text);
}

static int log_in(struct attempt *t, const char *method)
{
	struct buf b = BUF_MAX(4096);
	int rc;

	json_begin_object(&b);
	json_put_text(&b, "methodId", method);
	json_end_object(&b);
	rc = call_agent(t, "authenticate", b.p);
	buf_fini(&b);
	return probe_report("authenticate", rc == 0, rc ? t->why : method);
}

static int session(struct attempt *t, const char *dir, const char *logins)
{
	struct buf b = BUF_MAX(64u << 10), text = BUF_MAX(64u << 10);
	int rc;

	json_begin_object(&b);
	json_put_text(&b, "cwd", dir);
	json_put_raw(&b, "mcpServers", "[]");
	json_end_object(&b);
	rc = call_agent(t, "session/new", b.p);
	if (rc && t->code == RPC_AUTH && t->key_login[0] &&
	    log_in(t, t->key_login) == 0)
		rc = call_agent(t, "session/new", b.p);
	if (rc == 0)
		buf_adds(&text, "created a session");
	else if (t->code == RPC_AUTH)
		buf_addf(&text, "it requires a login: %s",
			 logins[0] ? logins : t->why);
	else
		buf_adds(&text, t->why);
	snprintf(t->session, sizeof t->session, "%s",
		 json_text(t->result, "sessionId", ""));
	rc = probe_report("session/new", rc == 0, text.p);
	buf_fini(&b);
	buf_fini(&text);
	return rc;
}

/* Allows the requested action, once. */
static int on_permission(struct rpc *r, const struct rpc_request *request,
			 struct err *e)
{
	const cJSON *options = cJSON_GetObjectItemCaseSensitive(request->params,
								"options");
	const char *id = json_text(cJSON_GetArrayItem(options, 0), "optionId",
				   "");
	struct buf b = BUF_MAX(4096);
	const cJSON *o;

	(void)e;
	cJSON_ArrayForEach(o, options)
	{
		if (strcmp(json_text(o, "kind", ""), "allow_once") == 0)
			id = json_text(o, "optionId", "");
	}
	json_begin_object(&b);
	json_put_object(&b, "outcome");
	json_put_text(&b, "outcome", "selected");
	json_put_text(&b, "optionId", id);
	json_end_object(&b);
	json_end_object(&b);
	rpc_answer(r, request->id, b.p);
	buf_fini(&b);
	return 0;
}

/* The answer of the model. */
static int on_update(struct rpc *r, const struct rpc_request *request,
		     struct err *e)
{
	struct attempt *t = r->owner;
	const cJSON *update = cJSON_GetObjectItemCaseSensitive(request->params,
							       "update");
	const char *text = json_text(
		cJSON_GetObjectItemCaseSensitive(update, "content"), "text",
		"");

	(void)e;
	if (strcmp(json_text(update, "sessionUpdate", ""),
		   "agent_message_chunk") == 0)
		tail_add(&t->answer, text, strlen(text));
	return 0;
}

static const struct rpc_method methods[] = {
	{"session/request_permission", true, on_permission},
	{"session/update", false, on_update}};

/* A turn that ended normally and in which the agent sent text. */
static int check_answer(struct attempt *t)
{
	const char *stop = json_text(t->result, "stopReason", "end_turn");
	bool ended = strcmp(stop, "end_turn") == 0;
	bool answer = *tail_text(&t->answer) != '\0';
	char text[160];

	text_printf(text, sizeof text, "%s%s", stop,
		    ended && !answer ? ", but the agent gave no answer" : "");
	return probe_report("prompt", ended && answer, text);
}

/* Gives the agent a task and checks the result. */
static int try_prompt(struct attempt *t, const char *dir)
{
	struct buf b = BUF_MAX(64u << 10);
	struct acp_probe_work w;
	struct err e;
	int rc;

	if (acp_probe_work_begin(&w, dir, &e))
		return probe_report("prompt", false, e.text);
	json_begin_object(&b);
	json_put_text(&b, "sessionId", t->session);
	json_put_array(&b, "prompt");
	json_begin_object(&b);
	json_put_text(&b, "type", "text");
	json_put_text(&b, "text", w.prompt);
	json_end_object(&b);
	json_end_array(&b);
	json_end_object(&b);
	rc = call_agent(t, "session/prompt", b.p);
	buf_fini(&b);
	rc = rc ? probe_report("prompt", false, t->why) : check_answer(t);
	return acp_probe_work_check(&w) || rc ? -1 : 0;
}

static int run_prompt(struct attempt *t, const struct acp_probe_session *how)
{
	const struct acp_config *c = how->config;
	struct buf logins = BUF_MAX(64u << 10);
	int rc = hello(t, c, &logins);

	if (rc == 0 && c->auth)
		rc = log_in(t, c->auth);
	if (rc == 0)
		rc = session(t, c->exec.cwd, logins.p);
	if (rc == 0 && how->prompts)
		rc = try_prompt(t, c->exec.cwd);
	buf_fini(&logins);
	return rc;
}

int acp_probe_session(const struct acp_probe_session *how)
{
	const struct acp_config *c = how->config;
	struct child_spec spec = {.argv = c->exec.argv,
				  .env = c->exec.env,
				  .cwd = c->exec.cwd,
				  .sandbox = how->sandbox};
	struct attempt t = {.until = how->until};
	struct err e;
	int rc;

	if (child_start(&t.child, &spec, &e))
		return probe_report("start", false, e.text);
	buf_init(&t.out, OUT_MAX);
	rpc_init(&t.rpc, methods, sizeof methods / sizeof *methods, &t.out, &t);
	rc = probe_report("start", true, c->exec.argv[0]);
	if (rc == 0)
		rc = run_prompt(&t, how);
	child_close(&t.child);
	cJSON_Delete(t.result);
	rpc_fini(&t.rpc);
	buf_fini(&t.out);
	return rc;
}
