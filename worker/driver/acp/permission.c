#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "schema/agent/transcript/session.h"
#include "worker/driver/acp/acp.h"
#include "worker/driver/acp/mcp_permission.h"
#include "worker/run/turn.h"

#include <stdio.h>
#include <string.h>

#define DETAIL_MAX \
	(60u << 10) /* of a question; a message is limited to 64
			        * KiB */
#define TITLE_MAX 1000
#define TITLE_SUBJECT \
	200 /* of a path or command in the title of a request of the agent */
#define ASKED_MAX 1000 /* how often a run may ask the same question */

/*
 * A question is identified by its subject, not by the agent's id for it: an
 * attempt after a crash that asks the same gets the existing answer. But an
 * answer is used once. Its use is committed before it is sent to the agent; the
 * same question after that is a new one, with the next number.
 */
struct acp_question {
	struct acp_question *next;
	const char *id; /* of the request, as JSON; NULL: of the MCP server */
	char key[64];
	struct acp_call *call; /* from the agent, or made for its request */
	cJSON *options;
	int (*then)(struct rpc *, const struct rpc_request *, struct err *);
	cJSON *params; /* for `then` */
	int64_t peer;  /* of the MCP server */
};

struct acp_answer {
	struct acp_answer *next;
	const char *key;
	const char *choice; /* or NULL */
	bool allow;
};

int acp_permissions_begin(struct acp *x, struct err *e)
{
	struct transcript *j = &x->run->transcript;
	struct arena *a = &x->run->arena;
	struct grant_row *rows;
	int n = session_grants(&j->file, j->writer.session, &rows, a, e);

	for (int i = 0; i < n; i++)
		permissions_grant(&x->config.permissions,
				  strcmp(rows[i].decision, "deny") == 0
					  ? PERMIT_DENY
					  : PERMIT_ALLOW,
				  rows[i].tool, rows[i].pattern, a);
	if (n < 0)
		return -1;
	if (part_abort_awaiting(&j->writer, "the agent that asked has exited",
				e) < 0)
		return -1;
	return 0;
}

/* --- answering -------------------------------------------------------- */

static const cJSON *option_of_kind(const cJSON *options, const char *kind)
{
	const cJSON *o;

	cJSON_ArrayForEach(o, options)
	{
		if (json_text(o, "optionId", NULL) &&
		    strcmp(json_text(o, "kind", ""), kind) == 0)
			return o;
	}
	return NULL;
}

/* The chosen option, or the least permissive one with the same meaning. */
static const cJSON *pick(const cJSON *options, bool allow, const char *choice)
{
	const cJSON *o;

	cJSON_ArrayForEach(o, options)
	{
		if (choice && strcmp(json_text(o, "optionId", ""), choice) == 0)
			return o;
	}
	o = option_of_kind(options, allow ? "allow_once" : "reject_once");
	return o ? o
		 : option_of_kind(options,
				  allow ? "allow_always" : "reject_always");
}

static void answer_permission(struct acp *x, const char *id,
			      const cJSON *option)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	const char *chosen = json_text(option, "optionId", NULL);

	json_begin_object(&b);
	json_put_object(&b, "outcome");
	json_put_text(&b, "outcome", chosen ? "selected" : "cancelled");
	json_put_text(&b, "optionId", chosen);
	json_end_object(&b);
	json_end_object(&b);
	rpc_answer(&x->rpc, id, b.p);
	buf_fini(&b);
}

/* Adds an event of type approval. Ends and frees the object `body`. */
static int add_event(struct acp *x, const char *key, struct buf *body,
		     struct err *e)
{
	struct event_new ev = {
		.type = "approval", .key = key, .parent = WRITER_LEAF};
	int rc;

	json_end_object(body);
	ev.body = body->p;
	rc = buf_ok(body, "an approval", e);
	if (rc == 0)
		rc = transcript_add(&x->run->transcript, &ev, 1, NULL, e);
	buf_fini(body);
	return rc;
}

static int note_ruled(struct acp *x, const struct acp_call *c, bool allow,
		      const char *rule, struct err *e)
{
	struct buf b = BUF_MAX(EVENT_BODY_MAX);

	json_begin_object(&b);
	json_put_text(&b, "state", "ruled");
	json_put_text(&b, "decision", allow ? "allow" : "deny");
	json_put_text(&b, "rule", rule ? rule : "the default");
	json_put_text(&b, "call_id", c->id);
	json_put_text(&b, "title", c->title);
	return add_event(x, NULL, &b, e);
}

static int by_rule(struct acp *x, const struct rpc_request *request,
		   struct acp_call *c, enum permit permit, const char *rule,
		   struct err *e)
{
	bool allow = permit == PERMIT_ALLOW;

	if (note_ruled(x, c, allow, rule, e))
		return -1;
	c->allowed = allow;
	answer_permission(
		x, request->id,
		pick(json_member(request->params, "options"), allow, NULL));
	return 0;
}

/* --- asking ----------------------------------------------------------- */

/* The information for the user; the largest values are left out if it is too
 * long, and "truncated" says so. */
static int make_detail(const struct acp_call *c, const cJSON *options,
		       struct buf *b, struct err *e)
{
	for (int less = 0; less < 3; less++) {
		buf_clear(b);
		b->over = false;
		json_begin_object(b);
		json_put_text(b, "kind", c->kind);
		if (less < 2)
			json_put_raw(b, "input", c->input);
		if (less < 1)
			json_put_raw(b, "content", c->content);
		if (less < 2)
			json_put_raw(b, "locations", c->locations);
		json_put(b, "options", options);
		if (less > 0)
			json_put_bool(b, "truncated", true);
		json_end_object(b);
		if (!b->over)
			break;
	}
	return buf_ok(b, "the question", e);
}

static int make_key(struct acp *x, struct acp_question *q, const char *title,
		    const char *detail, struct err *e)
{
	struct hash *h = hash_new();
	char hex[HASH_HEX], used[160];
	int found = 1;

	hash_add(h, title, strlen(title) + 1);
	hash_add(h, detail, strlen(detail));
	hash_end(h, hex);
	for (int n = 1; found == 1 && n <= ASKED_MAX; n++) {
		snprintf(q->key, sizeof q->key, "permit-%.24s-%d", hex, n);
		snprintf(used, sizeof used, "used:%s:%s", x->run->start->run,
			 q->key);
		found = writer_has_key(&x->run->transcript.writer, used, e);
	}
	if (found == 1)
		return err_set(e, ERR_FULL,
			       "the agent keeps repeating the same request");
	return found;
}

/* Waiting for a user does not count as idle. */
static void set_phase(struct acp *x)
{
	if (!x->run->paused)
		atomic_store(&x->run->phase,
			     x->questions ? RUN_WAITING : RUN_RUNNING);
}

/* Asked by the agent; otherwise by the worker, before it executes a request. */
static bool is_agents(const struct acp_question *q)
{
	return q->id && !q->then;
}

static int put_question(struct acp *x, struct acp_question *q, struct err *e)
{
	struct buf detail = BUF_MAX(DETAIL_MAX);
	char title[TITLE_MAX + 1];
	struct msg_approval m = {.key = q->key,
				 .title = title,
				 .fallback = "deny",
				 .timeout_ms = x->config.ask_timeout_ms};
	int rc = make_detail(q->call, q->options, &detail, e);

	text_fit(title, sizeof title,
		 q->call->title[0] ? q->call->title : q->call->kind);
	if (rc == 0)
		rc = make_key(x, q, title, detail.p, e);
	m.detail = detail.p;
	if (rc == 0)
		rc = run_question(x->run, &m, e);
	if (rc == 0 && is_agents(q))
		rc = acp_set_call(x, q->call, "awaiting", e);
	buf_fini(&detail);
	return rc;
}

static int ask_user(struct acp *x, const struct acp_question *question,
		    struct err *e)
{
	struct acp_question *q = arena_copy(&x->run->arena, question,
					    sizeof *question);

	q->id = arena_text(&x->run->arena, question->id);
	q->next = x->questions;
	x->questions = q;
	set_phase(x);
	return put_question(x, q, e);
}

int acp_on_permission(struct rpc *r, const struct rpc_request *request,
		      struct err *e)
{
	struct acp *x = r->owner;
	const cJSON *call = json_member(request->params, "toolCall");
	struct permission_subject s;
	struct acp_call *c;
	const char *rule;
	enum permit permit;

	if (!cJSON_IsObject(call) ||
	    !cJSON_IsArray(json_member(request->params, "options"))) {
		rpc_refuse(r, request->id, RPC_PARAMS,
			   "toolCall and options are needed");
		return 0;
	}
	if (acp_update_call(x, call, &c, e))
		return -1;
	if (x->cancelling) {
		answer_permission(x, request->id, NULL);
		return 0;
	}
	acp_subject(x, c, &s);
	permit = permissions_evaluate(&x->config.permissions, &s, &rule);
	if (permit != PERMIT_ASK)
		return by_rule(x, request, c, permit, rule, e);
	return ask_user(
		x,
		&(struct acp_question){
			.id = request->id,
			.call = c,
			.options = cJSON_Duplicate(
				json_member(request->params, "options"), true)},
		e);
}

/* --- files and terminals that the agent requests ----------------------- */

static cJSON *own_options(void)
{
	static const char text[] =
		"[{\"optionId\":\"allow\",\"name\":\"Allow\","
		"\"kind\":\"allow_once\"},"
		"{\"optionId\":\"always\",\"name\":\"Always allow\","
		"\"kind\":\"allow_always\"},"
		"{\"optionId\":\"reject\",\"name\":\"Reject\","
		"\"kind\":\"reject_once\"}]";

	return cJSON_Parse(text);
}

/* A call without an update of the agent: only for the question. */
static struct acp_call *make_call(struct acp *x,
				  const struct permission_subject *s,
				  const char *name, const cJSON *input)
{
	struct arena *a = &x->run->arena;
	struct acp_call *c = arena_alloc(a, sizeof *c);
	const char *about = s->command  ? s->command
			    : s->npaths ? s->paths[0]
					: "";
	struct buf in = BUF_MAX(SIZE_MAX / 2), where = BUF_MAX(SIZE_MAX / 2);
	struct buf title = BUF_MAX(2 * TITLE_MAX);

	buf_addf(&title, "%s ", name);
	buf_add_fit(&title, about, TITLE_SUBJECT);
	json_add(&in, input);
	json_begin_array(&where);
	for (int i = 0; i < s->npaths; i++) {
		json_begin_object(&where);
		json_put_text(&where, "path", s->paths[i]);
		json_end_object(&where);
	}
	json_end_array(&where);
	*c = (struct acp_call){.title = arena_text(a, title.p),
			       .kind = arena_text(a, s->kind),
			       .input = in.n ? arena_text(a, in.p) : NULL,
			       .locations = arena_text(a, where.p)};
	buf_fini(&title);
	buf_fini(&in);
	buf_fini(&where);
	return c;
}

static void deny_text(char out[200], const char *rule)
{
	if (rule)
		snprintf(out, 200, "the rule %s denies it", quoted(rule).text);
	else
		snprintf(out, 200, "the definition's permissions deny it");
}

bool acp_permit(struct acp *x, const struct rpc_request *request,
		const struct permission_subject *s,
		int (*then)(struct rpc *, const struct rpc_request *,
			    struct err *))
{
	struct acp_question q = {.id = request->id, .then = then};
	const char *rule;
	enum permit permit;
	char why[200];
	struct err e;

	if (x->consented)
		return true;
	permit = acp_evaluate(x, s, &rule);
	if (permit == PERMIT_ALLOW)
		return true;
	q.call = make_call(x, s, s->kind, request->params);
	deny_text(why, rule);
	if (permit == PERMIT_DENY) {
		(void)note_ruled(x, q.call, false, rule, &e);
		rpc_refuse(&x->rpc, request->id, RPC_INTERNAL, why);
		return false;
	}
	q.options = own_options();
	q.params = cJSON_Duplicate(request->params, true);
	if (ask_user(x, &q, &e))
		log_warn(LT("msg", "a question cannot be asked"),
			 LT("why", e.text));
	return false;
}

int acp_permit_tool(struct acp *x, int64_t peer, const cJSON *question,
		    struct err *e)
{
	struct acp_question q = {.peer = peer};
	struct permission_subject s = {
		.kind = json_text(question, "kind", "other"),
		.title = json_text(question, "tool", "")};
	enum permit permit;
	const cJSON *path;
	const char *rule;
	char why[200];

	cJSON_ArrayForEach(path, json_member(question, "paths"))
	{
		acp_add_path(x, &s, cJSON_GetStringValue(path));
	}
	permit = x->cancelling ? PERMIT_DENY : acp_evaluate(x, &s, &rule);
	if (permit != PERMIT_DENY && turn_tool(x->run, s.title, e))
		return -1;
	if (permit == PERMIT_ALLOW) {
		acp_mcp_answer(x, peer, true, NULL);
		return 0;
	}
	q.call = make_call(x, &s, s.title, json_member(question, "input"));
	if (permit == PERMIT_ASK) {
		q.options = own_options();
		return ask_user(x, &q, e);
	}
	deny_text(why, x->cancelling ? NULL : rule);
	acp_mcp_answer(x, peer, false, why);
	return x->cancelling ? 0 : note_ruled(x, q.call, false, rule, e);
}

/* --- the answer of a person ------------------------------------------- */

/* acp_send_answers finds it later: nothing may fail here. */
void acp_on_answer(struct acp *x, const struct msg_answer *m)
{
	struct arena *a = &x->run->arena;
	struct acp_answer *one = arena_alloc(a, sizeof *one);

	*one = (struct acp_answer){.next = x->answers,
				   .key = arena_text(a, m->key),
				   .choice = arena_text(a, m->choice),
				   .allow = strcmp(m->decision, "allow") == 0};
	x->answers = one;
}

static struct acp_question *add_question(struct acp *x, const char *key)
{
	struct acp_question **at = &x->questions, *q;

	while (*at && strcmp((*at)->key, key) != 0)
		at = &(*at)->next;
	q = *at;
	if (q)
		*at = q->next;
	return q;
}

/* "Always" applies to this session and exactly this subject; forks do not
 * inherit it. */
static int save_grant(struct acp *x, const struct acp_question *q,
		      const cJSON *option, struct err *e)
{
	struct transcript *j = &x->run->transcript;
	struct arena *a = &x->run->arena;
	const char *kind = json_text(option, "kind", "");
	bool allow = strcmp(kind, "allow_always") == 0;
	struct permission_subject s;
	const char *pattern;

	if (!allow && strcmp(kind, "reject_always") != 0)
		return 0;
	acp_subject(x, q->call, &s);
	pattern = permission_pattern(&s, a);
	if (!pattern)
		return 0;
	permissions_grant(&x->config.permissions,
			  allow ? PERMIT_ALLOW : PERMIT_DENY, q->call->kind,
			  pattern, a);
	return session_grant(&j->file, j->writer.session, q->call->kind,
			     pattern, allow ? "allow" : "deny", e);
}

/* Answers the peer; option NULL: the question was withdrawn. */
static int deliver(struct acp *x, struct acp_question *q, const cJSON *option,
		   struct err *e)
{
	bool allow = strncmp(json_text(option, "kind", ""), "allow", 5) == 0;
	int rc = 0;

	q->call->allowed = allow;
	if (is_agents(q)) {
		answer_permission(x, q->id, option);
	} else if (!q->then) {
		acp_mcp_answer(x, q->peer, allow, "it was not permitted");
	} else if (allow) {
		x->consented = true;
		rc = q->then(&x->rpc, &(struct rpc_request){q->id, q->params},
			     e);
		x->consented = false;
	} else {
		rpc_refuse(&x->rpc, q->id, RPC_INTERNAL,
			   "it was not permitted");
	}
	return rc;
}

static void free_question(struct acp_question *q)
{
	cJSON_Delete(q->options);
	cJSON_Delete(q->params);
}

static int use_answer(struct acp *x, struct acp_question *q,
		      const struct acp_answer *a, struct err *e)
{
	const cJSON *option = pick(q->options, a->allow, a->choice);
	struct buf b = BUF_MAX(EVENT_BODY_MAX);
	char key[160];

	snprintf(key, sizeof key, "used:%s:%s", x->run->start->run, q->key);
	json_begin_object(&b);
	json_put_text(&b, "state", "used");
	json_put_text(&b, "key", q->key);
	json_put_text(&b, "option", json_text(option, "optionId", NULL));
	if (add_event(x, key, &b, e) || save_grant(x, q, option, e) ||
	    (is_agents(q) && acp_set_call(x, q->call, "running", e)))
		return -1;
	return deliver(x, q, option, e);
}

int acp_send_answers(struct acp *x, struct err *e)
{
	int rc = 0;

	while (x->answers && rc == 0) {
		const struct acp_answer *a = x->answers;
		struct acp_question *q = add_question(x, a->key);

		x->answers = a->next;
		if (!q)
			continue; /* not asked, or already answered */
		rc = use_answer(x, q, a, e);
		free_question(q);
		set_phase(x);
		subprocess_write(&x->subprocess);
	}
	return rc;
}

void acp_drop_questions(struct acp *x)
{
	struct err ignored;

	while (x->questions) {
		struct acp_question *q = x->questions;

		x->questions = q->next;
		(void)deliver(x, q, NULL, &ignored);
		free_question(q);
	}
	set_phase(x);
}
