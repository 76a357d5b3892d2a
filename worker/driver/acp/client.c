#include "worker/driver/acp/acp.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "worker/run/turn.h"
#include "worker/workspace/workspace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PROTOCOL   1
#define NS_PER_MS  1000000
#define PARAMS_MAX (4u << 20)
#define PROMPT_MAX (60u << 20) /* with its attachments */
#define QUIET_MS   50          /* without an update: the turn is complete */
#define LINGER_MS  1000        /* and this long at most */

static int open_session(struct acp *x, struct err *e);
static int set_up_session(struct acp *x, struct err *e);

__attribute__((format(printf, 3, 4))) static int end_run(struct acp *x,
							 enum reason reason,
							 const char *fmt, ...)
{
	va_list ap;

	x->over = true;
	va_start(ap, fmt);
	run_end_set(x->end, reason, fmt, ap);
	va_end(ap);
	return 0;
}

/* Calls with the params in b, and frees it. */
static int call(struct acp *x, const char *method, struct buf *b,
		rpc_then *then, struct err *e)
{
	int rc = buf_ok(b, method, e);

	if (rc == 0)
		rc = rpc_call(&x->rpc, method, b->p, then, e);
	buf_fini(b);
	return rc;
}

/* A failed call ends the run. If the agent requires a login, the error contains
 * the methods. */
static int refused(struct acp *x, const char *method,
		   const struct rpc_reply *reply)
{
	const char *more = json_text(reply->data, "details",
				     json_text(reply->data, "message", NULL));

	if (cJSON_IsString(reply->data))
		more = reply->data->valuestring;
	if (reply->code == RPC_AUTH)
		return end_run(
			x, REASON_login, "the agent requires a login: %s",
			x->login.n ? x->login.p : quoted(reply->message).text);
	return end_run(x, REASON_agent_refused, "%s: %s%s%s", method,
		       quoted(reply->message).text, more ? ": " : "",
		       more ? quoted(more).text : "");
}

static enum reason reason_of_stop(const char *word)
{
	static const struct {
		const char *word;
		enum reason reason;
	} stops[] = {
#define STOP(word, reason) {#word, REASON_##reason},
#include "worker/driver/acp/stop.def"
#undef STOP
	};

	for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
		if (strcmp(stops[i].word, word) == 0)
			return stops[i].reason;
	return REASON_completed; /* it ended, for whatever reason */
}

static int prompt(struct acp *x, struct err *e);

static int on_prompted(struct rpc *r, const struct rpc_reply *reply,
		       struct err *e)
{
	struct acp *x = r->owner;
	const char *stop = json_text(reply->result, "stopReason", "end_turn");
	enum reason reason = reason_of_stop(stop);

	x->prompted = false;
	if (turn_end(x->run, e))
		return -1;
	if (!reply->result)
		return refused(x, "session/prompt", reply);
	if (acp_usage(x, reply->result, e) ||
	    stream_end_all(&x->subprocess.output.stream, "done", e))
		return -1;
	if (reason == REASON_completed && x->prompts && !run_ending(x->run))
		return prompt(x, e);
	if (strcmp(stop, "end_turn") != 0)
		return end_run(x, reason, "stop reason of the agent: %s",
			       quoted(stop).text);
	end_run(x, reason, "%s", "");
	if (x->config.idle_ms > 0) { /* no end will drain it */
		x->over = false;
		x->done_at = x->output_at = clock_mono_ns();
	}
	return 0;
}

static int prompt(struct acp *x, struct err *e)
{
	struct buf b = BUF_MAX(PROMPT_MAX);
	struct acp_prompt *p = x->prompts;

	if (turn_begin(x->run, NULL, e))
		return -1;
	x->prompts = p->next;
	x->prompted = true;
	json_begin_object(&b);
	json_put_text(&b, "sessionId", x->session);
	json_key(&b, "prompt");
	acp_add_blocks(x, p->text, &b);
	json_end_object(&b);
	return call(x, "session/prompt", &b, on_prompted, e);
}

static int on_option(struct rpc *r, const struct rpc_reply *reply,
		     struct err *e)
{
	struct acp *x = r->owner;

	if (!reply->result)
		return refused(x, "session/set_config_option", reply);
	x->next_option++;
	return set_up_session(x, e);
}

static int set_option(struct acp *x, const struct acp_option *o, struct err *e)
{
	struct buf b = BUF_MAX(PARAMS_MAX);

	json_begin_object(&b);
	json_put_text(&b, "sessionId", x->session);
	json_put_text(&b, "configId", o->id);
	if (o->value[0] != '"')
		json_put_text(&b, "type", "boolean");
	json_put_raw(&b, "value", o->value);
	json_end_object(&b);
	return call(x, "session/set_config_option", &b, on_option, e);
}

static int on_mode(struct rpc *r, const struct rpc_reply *reply, struct err *e)
{
	struct acp *x = r->owner;

	if (!reply->result)
		return refused(x, "session/set_mode", reply);
	return set_up_session(x, e);
}

static int set_mode(struct acp *x, const char *mode, struct err *e)
{
	struct buf b = BUF_MAX(PARAMS_MAX);

	x->config.mode = NULL; /* once */
	json_begin_object(&b);
	json_put_text(&b, "sessionId", x->session);
	json_put_text(&b, "modeId", mode);
	json_end_object(&b);
	return call(x, "session/set_mode", &b, on_mode, e);
}

/* Applies the settings of the definition to the session, one after the other;
 * then sends the prompt. */
static int set_up_session(struct acp *x, struct err *e)
{
	if (x->config.mode)
		return set_mode(x, x->config.mode, e);
	if (x->next_option < x->config.noptions)
		return set_option(x, &x->config.options[x->next_option], e);
	return prompt(x, e);
}

/* The agent has a session. Its id is stored before the prompt is sent. */
static int begun(struct acp *x, const cJSON *result, struct err *e)
{
	const cJSON *modes = json_member(result, "modes");
	const char *mode = json_text(modes, "currentModeId", "");

	x->replaying = false;
	if (x->config.mode && strcmp(mode, x->config.mode) == 0)
		x->config.mode = NULL;
	if (acp_session_save(x, e))
		return -1;
	return set_up_session(x, e);
}

static rpc_then on_authenticated;

static int log_in(struct acp *x, const char *method, struct err *e)
{
	struct buf b = BUF_MAX(PARAMS_MAX);

	json_begin_object(&b);
	json_put_text(&b, "methodId", method);
	json_end_object(&b);
	return call(x, "authenticate", &b, on_authenticated, e);
}

/* An agent that requires a login gets its API key, once. */
static int on_new(struct rpc *r, const struct rpc_reply *reply, struct err *e)
{
	struct acp *x = r->owner;
	const char *id = json_text(reply->result, "sessionId", NULL);
	const char *method = x->key_login;

	x->key_login = NULL;
	if (!reply->result && reply->code == RPC_AUTH && method)
		return log_in(x, method, e);
	if (!reply->result)
		return refused(x, "session/new", reply);
	if (!id || !id[0])
		return end_run(x, REASON_agent_protocol,
			       "session/new: the answer has no sessionId");
	x->session = arena_text(&x->run->lasting, id);
	x->cost = 0;
	return begun(x, reply->result, e);
}

static void put_place(struct acp *x, struct buf *b)
{
	json_put_text(b, "cwd", x->run->workspace->dir);
	json_key(b, "mcpServers");
	acp_add_servers(x, b);
}

static int new_session(struct acp *x, struct err *e)
{
	struct buf b = BUF_MAX(PARAMS_MAX);

	json_begin_object(&b);
	put_place(x, &b);
	json_end_object(&b);
	return call(x, "session/new", &b, on_new, e);
}

/* A session that is missing or unreadable is not an error. */
static int on_continued(struct rpc *r, const struct rpc_reply *reply,
			struct err *e)
{
	struct acp *x = r->owner;

	if (reply->result)
		return begun(x, reply->result, e);
	x->replaying = false;
	x->session = NULL;
	if (reply->code == RPC_AUTH)
		return refused(x, "session/load", reply);
	if (transcript_add_text(&x->run->transcript, "note", e,
				"the agent cannot continue its earlier "
				"session and starts a new one"))
		return -1;
	return new_session(x, e);
}

static int open_session(struct acp *x, struct err *e)
{
	struct buf b = BUF_MAX(PARAMS_MAX);
	const char *id;

	if (acp_session_find(x, &id, e))
		return -1;
	if (!id || (!x->can_load && !x->can_resume))
		return new_session(x, e);
	x->session = arena_text(&x->run->lasting, id);
	x->replaying = true;
	json_begin_object(&b);
	json_put_text(&b, "sessionId", id);
	put_place(x, &b);
	json_end_object(&b);
	return call(x, x->can_resume ? "session/resume" : "session/load", &b,
		    on_continued, e);
}

static int on_authenticated(struct rpc *r, const struct rpc_reply *reply,
			    struct err *e)
{
	struct acp *x = r->owner;

	if (!reply->result)
		return refused(x, "authenticate", reply);
	return open_session(x, e);
}

static void note_logins(struct acp *x, const cJSON *methods)
{
	const cJSON *m;

	buf_init(&x->login, 2000);
	cJSON_ArrayForEach(m, methods)
	{
		buf_addf(&x->login, "%s%s (\"auth\": \"%s\")",
			 x->login.n ? ", " : "",
			 quoted(json_text(m, "name", "a login")).text,
			 quoted(json_text(m, "id", "")).text);
	}
}

static int on_initialized(struct rpc *r, const struct rpc_reply *reply,
			  struct err *e)
{
	struct acp *x = r->owner;
	const cJSON *can = json_member(reply->result, "agentCapabilities");
	const cJSON *resume = json_member(
		json_member(can, "sessionCapabilities"), "resume");
	const cJSON *accepts = json_member(can, "promptCapabilities");
	int64_t version = json_i64(reply->result, "protocolVersion", -1);

	if (!reply->result)
		return refused(x, "initialize", reply);
	if (version != PROTOCOL)
		return end_run(x, REASON_agent_protocol,
			       "the agent speaks version %" PRId64
			       " of the protocol; skep speaks %d",
			       version, PROTOCOL);
	x->can_load = json_bool(can, "loadSession", false);
	x->can_resume = cJSON_IsObject(resume);
	x->can_mcp_http = json_bool(json_member(can, "mcpCapabilities"), "http",
				    false);
	x->can_image = json_bool(accepts, "image", false);
	x->can_audio = json_bool(accepts, "audio", false);
	note_logins(x, json_member(reply->result, "authMethods"));
	x->key_login = arena_text(
		&x->run->lasting,
		acp_key_login(&x->config,
			      json_member(reply->result, "authMethods")));
	return x->config.auth ? log_in(x, x->config.auth, e)
			      : open_session(x, e);
}

int acp_begin(struct acp *x, struct err *e)
{
	static const char capabilities[] =
		"{\"fs\":{\"readTextFile\":true,\"writeTextFile\":true},"
		"\"terminal\":true,"
		"\"session\":{\"configOptions\":{\"boolean\":{}}}}";
	struct buf b = BUF_MAX(PARAMS_MAX);

	json_begin_object(&b);
	json_put_int(&b, "protocolVersion", PROTOCOL);
	json_put_raw(&b, "clientCapabilities", capabilities);
	json_put_object(&b, "clientInfo");
	json_put_text(&b, "name", "skep");
	json_put_text(&b, "title", "skep");
	json_put_text(&b, "version", SKEP_VERSION);
	json_end_object(&b);
	json_end_object(&b);
	return call(x, "initialize", &b, on_initialized, e);
}

/* Its session may be obsolete: ours was rewound, or ran elsewhere. */
int acp_resume(struct acp *x, struct err *e)
{
	const char *id;

	if (acp_session_find(x, &id, e))
		return -1;
	if (!id || !x->session || strcmp(id, x->session) != 0)
		return open_session(x, e);
	x->config.mode = NULL; /* all settings are applied */
	x->next_option = x->config.noptions;
	return prompt(x, e);
}

int acp_continue(struct acp *x, int64_t *ms, struct err *e)
{
	int64_t now = clock_mono_ns(), left;

	if (x->done_at == 0)
		return 0;
	if (x->prompts && !run_ending(x->run)) {
		x->done_at = 0;
		return prompt(x, e);
	}
	left = QUIET_MS - (now - x->output_at) / NS_PER_MS;
	x->over = left <= 0 || run_ending(x->run) ||
		  now - x->done_at > (int64_t)LINGER_MS * NS_PER_MS;
	*ms = left < *ms ? left : *ms;
	return 0;
}

void acp_add_prompt(struct acp *x, const char *text)
{
	struct acp_prompt **at = &x->prompts;
	struct acp_prompt *p = arena_alloc(&x->run->arena, sizeof *p);

	while (*at)
		at = &(*at)->next;
	p->text = arena_text(&x->run->arena, text);
	*at = p;
}

void acp_cancel(struct acp *x)
{
	struct buf b = BUF_MAX(PARAMS_MAX);

	if (!x->cancelling && x->prompted) {
		json_begin_object(&b);
		json_put_text(&b, "sessionId", x->session);
		json_end_object(&b);
		rpc_notify(&x->rpc, "session/cancel", b.p);
	}
	acp_drop_questions(x);
	x->cancelling = true;
	buf_fini(&b);
}
