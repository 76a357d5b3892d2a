#include "worker/mcp/mcp.h"

#include "ipc/run_socket.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEWEST     "2025-06-18"
#define OUT_MAX    (64u << 20)
#define READ_BYTES (64u << 10)

enum effect { READS, CHANGES, ASKS };

static const struct tool {
	const char *name;
	mcp_tool *run;
	enum effect effect;
	const char *args;
	const char *about;
} tools[] = {
#define TOOL(name, fn, effect, args, about) \
	{#name, mcp_##fn, effect, args, about},
#include "worker/mcp/tools.def"
#undef TOOL
};

/* The JSON schema of an argument by type, and its check. */
static const struct type {
	const char *word;
	const char *schema;
	cJSON_bool (*is)(const cJSON *v);
} types[] = {
	{"string", "{\"type\":\"string\"}", cJSON_IsString},
	{"number", "{\"type\":\"number\"}", cJSON_IsNumber},
	{"boolean", "{\"type\":\"boolean\"}", cJSON_IsBool},
	{"strings", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
	 cJSON_IsArray},
	{"edits",
	 "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
	 "\"oldText\":{\"type\":\"string\"},\"newText\":{\"type\":\"string\"}},"
	 "\"required\":[\"oldText\",\"newText\"]}}",
	 cJSON_IsArray},
};

struct arg {
	char name[32];
	char type[16];
	bool needed;
};

/* The next argument of a list, or false; *at moves on. */
static bool next_arg(const char **at, struct arg *a)
{
	size_t n = strcspn(*at, ":"), t;

	if (!**at)
		return false;
	t = strcspn(*at + n + 1, "! ");
	snprintf(a->name, sizeof a->name, "%.*s", (int)n, *at);
	snprintf(a->type, sizeof a->type, "%.*s", (int)t, *at + n + 1);
	*at += n + 1 + t;
	a->needed = **at == '!';
	*at += strspn(*at, "! ");
	return true;
}

static const struct type *type_of(const struct arg *a)
{
	size_t i = 0;

	while (strcmp(types[i].word, a->type) != 0)
		i++; /* the table above is complete: a test requests all
		      * tools */
	return &types[i];
}

static void add_schema(struct buf *b, const char *args)
{
	const char *at = args;
	struct arg a;

	json_begin_object(b);
	json_put_text(b, "type", "object");
	json_put_object(b, "properties");
	while (next_arg(&at, &a))
		json_put_raw(b, a.name, type_of(&a)->schema);
	json_end_object(b);
	json_put_array(b, "required");
	for (at = args; next_arg(&at, &a);)
		if (a.needed)
			json_add_text(b, a.name);
	json_end_array(b);
	json_end_object(b);
}

void mcp_each(void (*fn)(void *arg, const struct mcp_about *about), void *arg)
{
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		struct buf schema = BUF_MAX(65536);

		add_schema(&schema, tools[i].args);
		fn(arg, &(struct mcp_about){tools[i].name, tools[i].about,
					    schema.p, tools[i].effect != READS,
					    tools[i].effect == ASKS});
		buf_fini(&schema);
	}
}

struct listing {
	const struct mcp *mcp;
	struct buf *out;
};

static void list_one(void *arg, const struct mcp_about *about)
{
	const struct listing *l = arg;
	struct buf *b = l->out;

	if (about->asks && !l->mcp->request)
		return;
	json_begin_object(b);
	json_put_text(b, "name", about->name);
	json_put_text(b, "description", about->text);
	json_put_raw(b, "inputSchema", about->schema);
	json_put_object(b, "annotations");
	json_put_bool(b, "readOnlyHint", !about->changes);
	json_end_object(b);
	json_end_object(b);
}

static int on_list(struct rpc *r, const struct rpc_request *request,
		   struct err *e)
{
	struct buf b = BUF_MAX(1 << 20);
	struct listing l = {r->owner, &b};

	(void)e;
	json_begin_object(&b);
	json_put_array(&b, "tools");
	mcp_each(list_one, &l);
	json_end_array(&b);
	json_end_object(&b);
	rpc_answer(r, request->id, b.p);
	buf_fini(&b);
	return 0;
}

static int check_args(const struct tool *t, const cJSON *args, struct err *e)
{
	const char *at = t->args;
	struct arg a;

	while (next_arg(&at, &a)) {
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(args, a.name);

		if ((!v || cJSON_IsNull(v)) && !a.needed)
			continue;
		if (!v || !type_of(&a)->is(v))
			return err_set(e, ERR_INVALID,
				       "%s requires %s of type %s", t->name,
				       a.name, a.type);
	}
	return 0;
}

/* The failure of a tool is an answer too: the agent reads the reason. */
static void answer_call(struct rpc *r, const char *id, const struct buf *text,
			bool failed)
{
	struct buf b = BUF_MAX(8 * MCP_TEXT_MAX);

	json_begin_object(&b);
	json_put_array(&b, "content");
	json_begin_object(&b);
	json_put_text(&b, "type", "text");
	json_key(&b, "text");
	json_add_string(&b, text->p, text->n);
	json_end_object(&b);
	json_end_array(&b);
	json_put_bool(&b, "isError", failed);
	json_end_object(&b);
	rpc_answer(r, id, b.p);
	buf_fini(&b);
}

static const struct tool *find_tool(const struct mcp *m, const char *name)
{
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
		if (strcmp(tools[i].name, name) == 0 &&
		    (tools[i].effect != ASKS || m->request))
			return &tools[i];
	return NULL;
}

static int run_tool(struct mcp *m, const struct tool *t, const cJSON *args,
		    struct buf *out, struct err *e)
{
	const struct files_kind *k = m->store->kind;
	bool changes = t->effect == CHANGES;

	if (t->effect == ASKS) /* it may wait, without a transaction */
		return t->run(m, args, out, e);
	if (k->begin(m->store, changes, e))
		return -1;
	return k->end(m->store, changes, t->run(m, args, out, e), e);
}

int mcp_call(struct mcp *m, const char *name, const cJSON *args,
	     struct buf *out, struct err *e)
{
	const struct tool *t = find_tool(m, name);

	if (!t)
		return err_set(e, ERR_NOTFOUND, "there is no tool %s",
			       quoted(name).text);
	return check_args(t, args, e) || run_tool(m, t, args, out, e)
		       ? -1
		       : buf_ok(out, "the answer", e);
}

static int on_call(struct rpc *r, const struct rpc_request *request,
		   struct err *e)
{
	const char *name = json_text(request->params, "name", "");
	const cJSON *args = cJSON_GetObjectItemCaseSensitive(request->params,
							     "arguments");
	struct buf text = BUF_MAX(MCP_TEXT_MAX);
	struct mcp *m = r->owner;
	struct err why;
	int rc;

	(void)e;
	if (!find_tool(m, name)) {
		rpc_refuse(r, request->id, RPC_PARAMS, "there is no such tool");
		return 0;
	}
	rc = m->permission_fd >= 0 &&
			     mcp_ask(m->permission_fd, name, args, &why)
		     ? -1
		     : mcp_call(m, name, args, &text, &why);
	if (rc) {
		buf_clear(&text);
		text.over = false;
		buf_adds(&text, why.text);
	}
	answer_call(r, request->id, &text, rc != 0);
	buf_fini(&text);
	return 0;
}

/* Nothing depends on the version: the one of the client is accepted. */
static int on_initialize(struct rpc *r, const struct rpc_request *request,
			 struct err *e)
{
	const char *version = json_text(request->params, "protocolVersion",
					NEWEST);
	struct buf b = BUF_MAX(4096);

	(void)e;
	json_begin_object(&b);
	json_key(&b, "protocolVersion");
	json_add_string(&b, version, strnlen(version, 64));
	json_put_raw(&b, "capabilities", "{\"tools\":{}}");
	json_put_object(&b, "serverInfo");
	json_put_text(&b, "name", "skep");
	json_put_text(&b, "version", SKEP_VERSION);
	json_end_object(&b);
	json_end_object(&b);
	rpc_answer(r, request->id, b.p);
	buf_fini(&b);
	return 0;
}

static int on_ping(struct rpc *r, const struct rpc_request *request,
		   struct err *e)
{
	(void)e;
	rpc_answer(r, request->id, "{}");
	return 0;
}

static const struct rpc_method methods[] = {
	{"initialize", true, on_initialize},
	{"ping", true, on_ping},
	{"tools/list", true, on_list},
	{"tools/call", true, on_call},
};

void mcp_init(struct mcp *m, struct files *store)
{
	*m = (struct mcp){.store = store, .permission_fd = -1};
	buf_init(&m->out, OUT_MAX);
	rpc_init(&m->rpc, methods, sizeof methods / sizeof *methods, &m->out,
		 m);
}

void mcp_fini(struct mcp *m)
{
	rpc_fini(&m->rpc);
	buf_fini(&m->out);
}

int mcp_feed(struct mcp *m, const char *p, size_t n, struct err *e)
{
	return rpc_feed(&m->rpc, p, n, e);
}

static int write_out(struct mcp *m)
{
	while (m->out.n > 0) {
		ssize_t n = write(STDOUT_FILENO, m->out.p, m->out.n);

		if (n < 0 && errno != EINTR)
			return -1;
		buf_drop(&m->out, n > 0 ? (size_t)n : 0);
	}
	return 0;
}

/* The supervisor is asked through the worker; what the agent wrote is committed
 * before, so that a fork of the workspace contains it. */
static int ask_supervisor(void *arg, const struct run_socket_request *q,
			  struct buf *out, struct err *e)
{
	const int *dir = arg;

	(void)fsync(*dir);
	return run_socket_call(q, out, e);
}

int mcp_serve(const char *dir, const char *permissions)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int worker = permissions ? run_socket_connect(permissions) : -1;
	char bytes[READ_BYTES];
	struct err e = {0};
	struct files store;
	struct mcp m;
	ssize_t n;

	if (fd < 0 || (permissions && worker < 0)) {
		fprintf(stderr, "skep-worker: %s: %s\n",
			fd < 0 ? dir : permissions, strerror(errno));
		return err_exit_status(ERR_NOTFOUND);
	}
	files_dir(&store, dir, fd);
	mcp_init(&m, &store);
	m.permission_fd = worker;
	if (getenv(RUN_SOCKET_ENV)) {
		m.request = ask_supervisor;
		m.request_arg = &fd;
	}
	do
		n = read(STDIN_FILENO, bytes, sizeof bytes);
	while ((n < 0 && errno == EINTR) ||
	       (n > 0 && mcp_feed(&m, bytes, (size_t)n, &e) == 0 &&
		write_out(&m) == 0));
	mcp_fini(&m);
	if (worker >= 0)
		close(worker);
	files_close(&store);
	if (e.code != ERR_OK)
		fprintf(stderr, "skep-worker: %s\n", e.text);
	return err_exit_status(e.code);
}
