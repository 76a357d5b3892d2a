#include "worker/driver/acp/acp.h"
#include "worker/run/turn.h"
#include "worker/workspace/workspace.h"

#include <stdio.h>
#include <string.h>

int acp_files_begin(struct acp *x, struct err *e)
{
	x->beneath = (struct beneath){.fd = workspace_dir(x->run->workspace),
				      .dir = x->run->workspace->dir};
	return x->beneath.fd < 0
		       ? err_set(e, ERR_UNSUPPORTED,
				 "cannot open the workspace %s", x->beneath.dir)
		       : 0;
}

static void refuse_request(struct rpc *r, const struct rpc_request *request,
			   const struct err *e)
{
	rpc_refuse(r, request->id,
		   e->code == ERR_NOTFOUND ? RPC_NOT_FOUND
		   : e->code == ERR_INVALID || e->code == ERR_DENIED
			   ? RPC_PARAMS
			   : RPC_INTERNAL,
		   e->text);
}

/* The path within the workspace; NULL: the request was rejected, or waits. */
static const char *path_of(struct acp *x, const struct rpc_request *request,
			   const char *kind,
			   int (*then)(struct rpc *, const struct rpc_request *,
				       struct err *))
{
	const char *path = json_text(request->params, "path", NULL), *within;
	struct permission_subject s = {.kind = kind, .title = ""};
	struct err e;

	if (!path || !path[0]) {
		rpc_refuse(&x->rpc, request->id, RPC_PARAMS, "path is needed");
		return NULL;
	}
	within = beneath_path(&x->beneath, path, &e);
	if (!within) {
		refuse_request(&x->rpc, request, &e);
		return NULL;
	}
	acp_add_path(x, &s, within);
	return acp_permit(x, request, &s, then) ? within : NULL;
}

/* A missing file reads as empty: agents that are about to create a file read it
 * first, and some fail on an error. */
int acp_on_read(struct rpc *r, const struct rpc_request *request, struct err *e)
{
	struct acp *x = r->owner;
	const char *path = path_of(x, request, "read", acp_on_read);
	struct buf text = BUF_MAX(BENEATH_FILE_MAX);
	struct buf answer = BUF_MAX(4 * BENEATH_FILE_MAX);
	struct err why;

	(void)e;
	if (!path)
		return 0;
	if (beneath_read(&x->beneath, path, &text, &why) &&
	    why.code != ERR_NOTFOUND) {
		refuse_request(r, request, &why);
	} else {
		beneath_cut_lines(&text, json_i64(request->params, "line", 1),
				  json_i64(request->params, "limit", 0));
		json_begin_object(&answer);
		json_key(&answer, "content");
		json_add_string(&answer, text.p, text.n);
		json_end_object(&answer);
		rpc_answer(r, request->id, answer.p);
	}
	buf_fini(&text);
	buf_fini(&answer);
	return 0;
}

int acp_on_write(struct rpc *r, const struct rpc_request *request,
		 struct err *e)
{
	struct acp *x = r->owner;
	const char *text = json_text(request->params, "content", NULL);
	const char *path;
	struct err why;

	(void)e;
	if (!text) {
		rpc_refuse(r, request->id, RPC_PARAMS, "content is needed");
		return 0;
	}
	path = path_of(x, request, "edit", acp_on_write);
	if (!path)
		return 0;
	if (turn_tool(x->run, "fs/write_text_file", &why) ||
	    beneath_write(&x->beneath, path, text, strlen(text), &why))
		refuse_request(r, request, &why);
	else
		rpc_answer(r, request->id, "{}");
	return 0;
}
