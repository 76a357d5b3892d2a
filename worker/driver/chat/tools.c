#include "worker/driver/chat/chat.h"

#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "schema/agent/artifact.h"
#include "worker/driver/chat/exec.h"
#include "worker/driver/chat/media.h"
#include "worker/run/turn.h"

#include <stdio.h>
#include <string.h>

static const struct class
{
	const char *name, *kind;
	bool again;
} classes[] = {
#define CHAT_TOOL(name, kind, again) {#name, #kind, again},
#include "worker/driver/chat/tools.def"
#undef CHAT_TOOL
};

static const struct class *class_of(const char *name)
{
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		if (strcmp(classes[i].name, name) == 0)
			return &classes[i];
	return NULL;
}

bool chat_tool_is_repeatable(const char *name)
{
	const struct class *c = class_of(name);

	return c && c->again;
}

/* --- which there are ----------------------------------------------------- */

static const struct mcp_about own[] = {
	{"put_artifact",
	 "Store a text as an artifact of this run, under a relative path.",
	 "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
	 "\"content\":{\"type\":\"string\"}},"
	 "\"required\":[\"name\",\"content\"]}",
	 false, false},
	{"exec",
	 "Run a command with /bin/sh in the workspace; returns its output and "
	 "exit status.",
	 "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":"
	 "\"string\"}},\"required\":[\"command\"]}",
	 true, false},
};

static bool may_use(const struct chat *x, const char *name)
{
	const struct chat_config *c = &x->config;

	if (strcmp(name, "exec") == 0 && !c->exec)
		return false;
	if (!c->tools)
		return true;
	for (int i = 0; i < c->ntools; i++)
		if (strcmp(c->tools[i], name) == 0)
			return true;
	return strcmp(name, "exec") == 0;
}

struct listing {
	const struct chat *x;
	struct buf *out;
};

static void list_one(void *arg, const struct mcp_about *t)
{
	const struct listing *l = arg;
	bool nested = !l->x->config.responses;

	if (!may_use(l->x, t->name) || (t->asks && !l->x->files.request))
		return;
	json_begin_object(l->out);
	json_put_text(l->out, "type", "function");
	if (nested)
		json_put_object(l->out, "function");
	json_put_text(l->out, "name", t->name);
	json_put_text(l->out, "description", t->text);
	json_put_raw(l->out, "parameters", t->schema);
	if (nested)
		json_end_object(l->out);
	json_end_object(l->out);
}

void chat_tools_list(const struct chat *x, struct buf *out)
{
	struct listing l = {x, out};
	const struct chat_mcp_tool *tool;

	json_begin_array(out);
	mcp_each(list_one, &l);
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		list_one(&l, &own[i]);
	for (int i = 0; (tool = chat_mcp_nth(x->servers, i)); i++)
		list_one(&l, &(struct mcp_about){tool->name, tool->about,
						 tool->schema, !tool->reads,
						 false});
	json_end_array(out);
}

/* --- whether it may ------------------------------------------------------ */

static void add_path(struct permission_subject *s, const cJSON *args,
		     const char *name)
{
	const char *path = json_text(args, name, NULL);

	if (path && s->npaths < PERMISSION_PATHS)
		s->paths[s->npaths++] = path;
}

/* The transcript marks the call as not begun until it is allowed. */
static int set_state(struct chat *x, const struct chat_use *use,
		     const char *state, struct err *e)
{
	if (!use->part)
		return 0;
	if (part_set(use->part, &(struct part_change_new){.state = state}, e) <
	    0)
		return -1;
	transcript_changed(&x->run->transcript);
	return 0;
}

static int ask_permission(struct chat *x, const struct chat_use *use,
			  const char *title, struct err *e)
{
	struct buf detail = BUF_MAX(65536);
	struct msg_approval q = {
		.key = use->id, .title = title, .timeout_ms = OPT_NONE};
	int rc;

	json_begin_object(&detail);
	json_put_text(&detail, "tool", use->name);
	json_put(&detail, "arguments", use->args);
	json_end_object(&detail);
	q.detail = detail.over ? "{\"truncated\":true}" : detail.p;
	rc = set_state(x, use, "awaiting", e);
	if (rc == 0)
		rc = run_ask(x->run, &q, e);
	if (rc > 0 && set_state(x, use, "running", e))
		rc = -1;
	buf_fini(&detail);
	return rc;
}

/* Returns 1: allowed; 0: denied, *e is for the model; -1: the run ends. */
static int permitted(struct chat *x, const struct chat_use *use,
		     const struct class *c, struct err *e)
{
	const char *command = json_text(use->args, "command", NULL);
	struct permission_subject s = {
		.kind = c->kind, .title = use->name, .command = command};
	char title[200];
	const char *rule;
	int yes = 1;

	if (!x->config.ruled)
		return 1;
	add_path(&s, use->args, "path");
	add_path(&s, use->args, "source");
	add_path(&s, use->args, "destination");
	text_printf(title, sizeof title, "%s %s", use->name,
		    command    ? command
		    : s.npaths ? s.paths[0]
			       : "");
	switch (permissions_evaluate(&x->config.permissions, &s, &rule)) {
	case PERMIT_ALLOW:
		return 1;
	case PERMIT_ASK:
		yes = ask_permission(x, use, title, e);
		break;
	case PERMIT_DENY:
		yes = 0;
		break;
	}
	if (yes == 0)
		err_set(e, ERR_DENIED, "%s was not permitted", use->name);
	return yes;
}

/* --- doing it ------------------------------------------------------------ */

static int put_artifact(struct chat *x, const cJSON *args, struct buf *text,
			struct err *e)
{
	const char *name = json_text(args, "name", NULL);
	const char *content = json_text(args, "content", NULL);
	struct artifact_key key;
	struct artifact_about about = {.mime = "text/plain"};

	if (!name || !content)
		return err_set(e, ERR_INVALID,
			       "put_artifact needs name and content");
	key = artifact_key_run(x->run->start->run, name);
	if (artifact_put(x->run->transcript.file.db, &key, &about,
			 (struct blob){content, strlen(content)}, NULL, e))
		return -1;
	buf_addf(text, "Kept as %s", name);
	return 0;
}

/* Attachments are outside the workspace; the tools that read a file can read
 * them by the path in the prompt. */
static int read_attachment(struct chat *x, const struct chat_use *use,
			   struct buf *text, struct err *e)
{
	const char *path = json_text(use->args, "path", "");

	if (path[0] != '/' || (strcmp(use->name, "read_file") != 0 &&
			       strcmp(use->name, "read_text_file") != 0))
		return 0;
	return chat_media_read(x->run, path, text, e);
}

/* The same in all attempts of the run. Some servers use an id again in a later
 * answer. */
static void call_key(const struct chat_use *use, char out[HASH_HEX])
{
	struct hash *h = hash_new();

	hash_add(h, &use->seq, sizeof use->seq);
	hash_add(h, use->id, strlen(use->id));
	hash_end(h, out);
}

static int run_it(struct chat *x, const struct chat_use *use, struct buf *text,
		  struct err *e)
{
	char key[HASH_HEX];
	int read = read_attachment(x, use, text, e);

	if (read)
		return read < 0 ? -1 : 0;
	if (strcmp(use->name, "put_artifact") == 0)
		return put_artifact(x, use->args, text, e);
	if (strcmp(use->name, "exec") == 0)
		return chat_exec(x->run, &x->config.limits,
				 json_text(use->args, "command", ""), text, e);
	call_key(use, key);
	x->files.call_id = key;
	return mcp_call(&x->files, use->name, use->args, text, e);
}

/* The start of the character at this byte. */
static size_t whole(const struct buf *text, size_t at)
{
	for (int i = 0; i < 3 && at > 0; i++, at--)
		if (((unsigned char)text->p[at] & 0xc0) != 0x80)
			break;
	return at;
}

/* Keeps the beginning and the end. */
static void cut(struct buf *text, size_t max)
{
	struct buf b = BUF_MAX(text->max);
	size_t head, tail;

	if (text->n <= max)
		return;
	head = whole(text, max / 2);
	tail = whole(text, text->n - max / 2);
	buf_add(&b, text->p, head);
	buf_addf(&b, "\n[… %zu bytes left out …]\n", tail - head);
	buf_add(&b, text->p + tail, text->n - tail);
	buf_clear(text);
	buf_add(text, b.p, b.n);
	buf_fini(&b);
}

int chat_tool_run(struct chat *x, const struct chat_use *use, struct buf *text,
		  bool *failed, struct err *e)
{
	static const struct class server_reads = {NULL, "read", true};
	static const struct class server_other = {NULL, "other", false};
	const struct chat_mcp_tool *tool = chat_mcp_find(x->servers, use->name);
	const struct class *c = class_of(use->name);
	int yes;

	if (tool)
		c = tool->reads ? &server_reads : &server_other;
	if (!c || !may_use(x, use->name))
		return err_set(e, ERR_NOTFOUND, "unknown tool %s",
			       quoted(use->name).text);
	yes = permitted(x, use, c, e);
	/* after a power failure the next attempt can see that it was called */
	if (yes <= 0 || turn_tool(x->run, use->name, e) ||
	    (!c->again && transcript_sync(&x->run->transcript, e)) ||
	    (tool ? chat_mcp_call(x->servers, tool, use->args, text, failed, e)
		  : run_it(x, use, text, e)))
		return -1;
	cut(text, (size_t)x->config.limits.tool_output);
	return 0;
}
