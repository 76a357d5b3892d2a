#include "worker/driver/chat/mcp_tools.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/jsonrpc.h"
#include "lib/os/process_tree.h"
#include "worker/driver/chat/mcp_http.h"
#include "worker/process/child.h"
#include "worker/workspace/workspace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_MS    1000000
#define TOOLS_MAX    256
#define NAME_BYTES   64 /* of a tool, as accepted by servers of models */
#define OUT_MAX      (16u << 20)
#define RESPONSE_MAX 400 /* of stderr, for the event */
#define PROTOCOL     "2025-06-18"

struct server {
	struct chat_mcp *all;
	const struct mcp_server *spec;
	struct child child;
	struct mcp_http *http; /* of a server with a url */
	struct rpc rpc;
	struct buf out;
	struct buf output; /* the beginning of its stderr */
	bool up;
	bool replied;
	cJSON *result; /* of the last reply; NULL: an error */
	char why[400];
};

struct tool {
	struct chat_mcp_tool about;
	struct server *server;
};

struct chat_mcp {
	struct run *run;
	int64_t timeout_ms;
	struct server servers[MCP_SERVERS_MAX];
	int nservers;
	struct tool tools[TOOLS_MAX];
	int ntools;
};

/* --- one server ---------------------------------------------------------- */

static int on_reply(struct rpc *r, const struct rpc_reply *reply, struct err *e)
{
	struct server *s = r->owner;

	(void)e;
	s->replied = true;
	s->result = reply->result ? cJSON_Duplicate(reply->result, true) : NULL;
	text_fit(s->why, sizeof s->why, reply->message ? reply->message : "");
	return 0;
}

static int on_ping(struct rpc *r, const struct rpc_request *request,
		   struct err *e)
{
	(void)e;
	rpc_answer(r, request->id, "{}");
	return 0;
}

static const struct rpc_method methods[] = {{"ping", true, on_ping}};

static void drop_server(struct server *s)
{
	if (!s->up)
		return;
	s->up = false;
	if (s->http) {
		mcp_http_close(s->http, s->all->run);
	} else {
		tree_unexempt(s->child.pid);
		child_close(&s->child);
	}
	rpc_fini(&s->rpc);
	buf_fini(&s->out);
}

/* The end of a stream is the end of the server. */
static int read_some(struct server *s, int fd, struct err *e)
{
	char bytes[16384];
	ssize_t n = read(fd, bytes, sizeof bytes);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return err_set(
			e, ERR_UNAVAILABLE, "the MCP server %s has exited%s%s",
			s->spec->name, s->output.n ? ": " : "", s->output.p);
	if (fd == s->child.out)
		return rpc_feed(&s->rpc, bytes, (size_t)n, e);
	(void)buf_add(&s->output, bytes,
		      (size_t)n < s->output.max - s->output.n
			      ? (size_t)n
			      : s->output.max - s->output.n - 1);
	return 0;
}

static void write_some(struct server *s)
{
	ssize_t n = write(s->child.in, s->out.p, s->out.n);

	if (n > 0)
		buf_drop(&s->out, (size_t)n);
}

static int attend(struct server *s, int64_t ms, struct err *e)
{
	struct pollfd p[3] = {
		{.fd = s->child.out, .events = POLLIN},
		{.fd = s->child.err, .events = POLLIN},
		{.fd = s->out.n ? s->child.in : -1, .events = POLLOUT}};

	if (run_poll(s->all->run, p, 3, ms, e))
		return -1;
	if (p[2].revents)
		write_some(s);
	if (p[1].revents && read_some(s, s->child.err, e)) {
		close(s->child.err);
		s->child.err = -1;
	}
	return p[0].revents ? read_some(s, s->child.out, e) : 0;
}

/* One exchange over HTTP. An answer that ends without the reply was cut off. */
static int exchange(struct server *s, int64_t until, struct err *e)
{
	if (mcp_http_send(s->http, s->all->run, &s->rpc, &s->replied, until, e))
		return e->code == ERR_CANCELED || e->code == ERR_STALE
			       ? -1
			       : err_wrap(e, "the MCP server %s",
					  s->spec->name);
	return s->replied ? 0
			  : err_set(e, ERR_UNAVAILABLE,
				    "the MCP server %s ended its response "
				    "without a reply",
				    s->spec->name);
}

static int attend_until(struct server *s, const char *method, int64_t until,
			struct err *e)
{
	while (!s->replied) {
		int64_t left = (until - clock_mono_ns()) / NS_PER_MS + 1;

		if (run_ending(s->all->run))
			return err_set(e, ERR_CANCELED, "the run was ended");
		if (left <= 0)
			return err_set(
				e, ERR_TIMEOUT,
				"the MCP server %s did not respond to %s in "
				"time",
				s->spec->name, method);
		if (attend(s, left, e))
			return -1;
	}
	return 0;
}

/* Sends a request and waits for the reply. A failure is an error of the server,
 * unless the run ends. A command that fails is ended; a server with a url may
 * be available again for the next call. */
static int call_server(struct server *s, const char *method, const char *params,
		       struct err *e)
{
	int64_t until = clock_mono_ns() + s->all->timeout_ms * NS_PER_MS;
	int rc;

	s->replied = false;
	cJSON_Delete(s->result);
	s->result = NULL;
	rc = rpc_call(&s->rpc, method, params, on_reply, e);
	if (rc == 0)
		rc = s->http ? exchange(s, until, e)
			     : attend_until(s, method, until, e);
	if (rc && s->http)
		rpc_forget(&s->rpc);
	else if (rc && e->code != ERR_CANCELED && e->code != ERR_STALE)
		drop_server(s);
	if (rc)
		return -1;
	return s->result ? 0
			 : err_set(e, ERR_INVALID, "the MCP server %s: %s",
				   s->spec->name, s->why);
}

static int start_command(struct server *s, struct err *e)
{
	struct run *r = s->all->run;
	const struct exec_config *c = &s->spec->exec;
	struct child_spec spec = {.argv = c->argv,
				  .env = c->env,
				  .cwd = r->workspace->dir,
				  .ns = workspace_ns(r->workspace),
				  .sandbox = r->sandbox};

	if (workspace_commands(r->workspace, e) ||
	    child_start(&s->child, &spec, e))
		return -1;
	tree_exempt(s->child.pid);
	return 0;
}

/* The first messages of a connection. */
static int greet(struct server *s, struct err *e)
{
	bool sent = true;

	if (call_server(s, "initialize",
			"{\"protocolVersion\":\"" PROTOCOL
			"\",\"capabilities\":{},"
			"\"clientInfo\":{\"name\":\"skep\",\"version\":"
			"\"" SKEP_VERSION "\"}}",
			e))
		return -1;
	rpc_notify(&s->rpc, "notifications/initialized", "{}");
	if (!s->http)
		return 0;
	mcp_http_version(s->http,
			 json_text(s->result, "protocolVersion", PROTOCOL));
	return mcp_http_send(s->http, s->all->run, &s->rpc, &sent,
			     clock_mono_ns() + s->all->timeout_ms * NS_PER_MS,
			     e);
}

static int start_server(struct server *s, struct err *e)
{
	if (s->spec->url ? mcp_http_open(&s->http, s->spec, e)
			 : start_command(s, e))
		return -1;
	s->up = true;
	buf_init(&s->out, OUT_MAX);
	buf_init(&s->output, RESPONSE_MAX);
	rpc_init(&s->rpc, methods, 1, &s->out, s);
	return greet(s, e);
}

/* A server that lost the session, for example by a restart, gets a new one. */
static int retry_request(struct server *s, const char *method,
			 const char *params, struct err *e)
{
	if (call_server(s, method, params, e) == 0)
		return 0;
	if (!s->http || e->code != ERR_NOTFOUND)
		return -1;
	mcp_http_close_session(s->http);
	return greet(s, e) ? -1 : call_server(s, method, params, e);
}

/* --- its tools ----------------------------------------------------------- */

/* Servers of models accept letters, digits, '_' and '-'. */
static const char *tool_name(const struct server *s, const char *bare,
			     struct arena *a)
{
	char *name = arena_printf(a, "%s__%s", s->spec->name, bare);

	for (char *p = name; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
			    "XYZ0123456789_-",
			    *p))
			*p = '_';
	if (strlen(name) > NAME_BYTES)
		name[NAME_BYTES] = '\0';
	return name;
}

static void add_tool(struct server *s, const cJSON *v)
{
	struct chat_mcp *m = s->all;
	struct arena *a = &m->run->arena;
	const cJSON *schema = cJSON_GetObjectItemCaseSensitive(v,
							       "inputSchema");
	const cJSON *hints = cJSON_GetObjectItemCaseSensitive(v, "annotations");
	const char *bare = json_text(v, "name", "");
	struct buf b = BUF_MAX(1u << 20);
	struct tool *t = &m->tools[m->ntools];

	if (m->ntools == TOOLS_MAX || !bare[0] || !cJSON_IsObject(schema))
		return;
	json_add(&b, schema);
	*t = (struct tool){
		.server = s,
		.about = {
			.name = tool_name(s, bare, a),
			.bare = arena_text(a, bare),
			.about = arena_text(a, json_text(v, "description", "")),
			.schema = arena_text(a, b.p),
			.reads = json_bool(hints, "readOnlyHint", false)}};
	buf_fini(&b);
	if (!chat_mcp_find(m, t->about.name))
		m->ntools++;
}

/* In pages, if there are many. */
static int list_tools(struct server *s, struct err *e)
{
	struct buf params = BUF_MAX(65536);
	const char *next = NULL;
	const cJSON *v;
	int rc;

	buf_adds(&params, "{}");
	do {
		rc = call_server(s, "tools/list", params.p, e);
		if (rc)
			break;
		cJSON_ArrayForEach(
			v, cJSON_GetObjectItemCaseSensitive(s->result, "tools"))
		{
			add_tool(s, v);
		}
		next = json_text(s->result, "nextCursor", NULL);
		buf_clear(&params);
		json_begin_object(&params);
		json_put_text(&params, "cursor", next);
		json_end_object(&params);
	} while (next && next[0] && s->all->ntools < TOOLS_MAX);
	buf_fini(&params);
	return rc;
}

static int note_failure(struct run *r, const struct mcp_server *spec,
			const struct err *why, struct err *e)
{
	return transcript_add_text(&r->transcript, "note", e,
				   "the MCP server %s is not available: %s",
				   spec->name, why->text);
}

int chat_mcp_open(struct chat_mcp **out, struct run *r,
		  const struct mcp_servers *servers, int64_t timeout_ms,
		  struct err *e)
{
	struct chat_mcp *m;

	*out = NULL;
	if (servers->n == 0)
		return 0;
	*out = m = arena_alloc(&r->arena, sizeof *m);
	*m = (struct chat_mcp){.run = r, .timeout_ms = timeout_ms};
	for (int i = 0; i < servers->n; i++) {
		struct server *s = &m->servers[m->nservers++];
		struct err why;

		*s = (struct server){.all = m, .spec = &servers->list[i]};
		if (start_server(s, &why) == 0 && list_tools(s, &why) == 0)
			continue;
		drop_server(s);
		if (run_ending(r) || why.code == ERR_STALE) {
			*e = why;
			return -1;
		}
		if (note_failure(r, s->spec, &why, e))
			return -1;
	}
	return 0;
}

void chat_mcp_close(struct chat_mcp *m)
{
	for (int i = 0; m && i < m->nservers; i++) {
		drop_server(&m->servers[i]);
		buf_fini(&m->servers[i].output);
		cJSON_Delete(m->servers[i].result);
	}
}

const struct chat_mcp_tool *chat_mcp_nth(const struct chat_mcp *m, int n)
{
	return m && n < m->ntools ? &m->tools[n].about : NULL;
}

const struct chat_mcp_tool *chat_mcp_find(const struct chat_mcp *m,
					  const char *name)
{
	for (int i = 0; m && i < m->ntools; i++)
		if (strcmp(m->tools[i].about.name, name) == 0)
			return &m->tools[i].about;
	return NULL;
}

/* --- a call -------------------------------------------------------------- */

/* Text, and the type of other content. */
static void add_result_content(const cJSON *result, struct buf *text)
{
	const cJSON *v, *data = cJSON_GetObjectItemCaseSensitive(
				result, "structuredContent");

	cJSON_ArrayForEach(v,
			   cJSON_GetObjectItemCaseSensitive(result, "content"))
	{
		const cJSON *resource = cJSON_GetObjectItemCaseSensitive(
			v, "resource");
		const char *words = json_text(
			v, "text", json_text(resource, "text", NULL));

		if (text->n)
			buf_addc(text, '\n');
		if (words)
			buf_adds(text, words);
		else
			buf_addf(text, "[%s %s]", json_text(v, "type", "data"),
				 json_text(v, "uri",
					   json_text(v, "mimeType", "")));
	}
	if (text->n == 0 && data)
		json_add(text, data);
}

int chat_mcp_call(struct chat_mcp *m, const struct chat_mcp_tool *tool,
		  const cJSON *args, struct buf *text, bool *failed,
		  struct err *e)
{
	struct server *s = NULL;
	struct buf params = BUF_MAX(OUT_MAX);
	int rc;

	for (int i = 0; i < m->ntools; i++)
		if (&m->tools[i].about == tool)
			s = m->tools[i].server;
	if (!s || !s->up)
		return err_set(e, ERR_UNAVAILABLE,
			       "the MCP server of %s has exited", tool->name);
	json_begin_object(&params);
	json_put_text(&params, "name", tool->bare);
	json_put(&params, "arguments", args);
	json_end_object(&params);
	rc = buf_ok(&params, "the arguments", e);
	if (rc == 0)
		rc = retry_request(s, "tools/call", params.p, e);
	buf_fini(&params);
	if (rc)
		return -1;
	add_result_content(s->result, text);
	*failed = json_bool(s->result, "isError", false);
	if (*failed && text->n == 0)
		buf_adds(text, "the tool failed");
	return buf_ok(text, "the result", e);
}
