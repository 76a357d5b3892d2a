/* The tools for child runs and messages. They pass their arguments to the
 * supervisor (ipc/message.def, `request`), and its result to the agent. */
#include "ipc/run_socket.h"
#include "lib/base/id.h"
#include "worker/mcp/mcp.h"

#include <string.h>

/* All arguments except `key`, which belongs to the request. */
static void add_args(struct buf *b, const cJSON *args)
{
	const cJSON *v;

	json_begin_object(b);
	cJSON_ArrayForEach(v, args)
	{
		if (strcmp(v->string, "key") != 0 && !cJSON_IsNull(v))
			json_put(b, v->string, v);
	}
	json_end_object(b);
}

static int ask(struct mcp *m, const char *verb, const cJSON *args,
	       struct buf *out, struct err *e)
{
	struct buf b = BUF_MAX(RUN_REQUEST_MAX);
	struct id random = id_new(ID_RUN);
	struct run_socket_request q = {
		.verb = verb,
		.key = json_text(args, "key",
				 m->call_id ? m->call_id : random.text),
	};
	int rc;

	add_args(&b, args);
	q.args = b.p;
	rc = buf_ok(&b, "the request", e);
	if (rc == 0)
		rc = m->request(m->request_arg, &q, out, e);
	buf_fini(&b);
	return rc;
}

int mcp_child_start(struct mcp *m, const cJSON *args, struct buf *out,
		    struct err *e)
{
	return ask(m, "start", args, out, e);
}

int mcp_child_wait(struct mcp *m, const cJSON *args, struct buf *out,
		   struct err *e)
{
	return ask(m, "wait", args, out, e);
}

int mcp_child_list(struct mcp *m, const cJSON *args, struct buf *out,
		   struct err *e)
{
	return ask(m, "list", args, out, e);
}

int mcp_child_send(struct mcp *m, const cJSON *args, struct buf *out,
		   struct err *e)
{
	return ask(m, "send", args, out, e);
}

int mcp_child_cancel(struct mcp *m, const cJSON *args, struct buf *out,
		     struct err *e)
{
	return ask(m, "cancel", args, out, e);
}

/* Without a time it does not wait. */
int mcp_receive(struct mcp *m, const cJSON *args, struct buf *out,
		struct err *e)
{
	cJSON *copy = cJSON_Duplicate(args, true);
	int rc;

	if (!copy)
		copy = cJSON_CreateObject();
	if (!cJSON_IsNumber(json_member(copy, "timeout_ms")))
		cJSON_AddNumberToObject(copy, "timeout_ms", 0);
	rc = ask(m, "receive", copy, out, e);
	cJSON_Delete(copy);
	return rc;
}
