#include "lib/os/process_tree.h"
#include "worker/driver/acp/acp.h"
#include "worker/workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* An agent that was stopped during a pause, or still waits for a user, is not
 * idle. */
bool acp_may_idle(const struct acp *x)
{
	struct run *r = x->run;

	return x->config.idle_ms > 0 && x->done_at &&
	       x->end->reason == REASON_completed && !run_ending(r) &&
	       !r->paused && !x->questions && x->subprocess.child.in >= 0 &&
	       r->child_status == RUN_NO_STATUS;
}

/* A mount commits at its end, or on request. */
static int sync_workspace(struct acp *x, struct err *e)
{
	int fd, rc;

	if (strcmp(x->run->start->workspace_mode, "disk") == 0)
		return 0;
	fd = openat(x->beneath.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_errno_set(e, "the workspace");
	rc = fsync(fd);
	if (rc)
		err_errno_set(e, "the workspace");
	close(fd);
	return rc;
}

int acp_idle(struct acp *x, struct err *e)
{
	if (exec_output_end(&x->subprocess.output, "done", e) ||
	    acp_close_calls(x, "done", e) || acp_session_save(x, e) ||
	    sync_workspace(x, e))
		return -1;
	tree_exempt(x->subprocess.child.pid);
	x->stays = true;
	return 0;
}

/* Output that the agent wrote in between is in its pipes and belongs to this
 * run. */
int acp_begin_next_run(struct acp *x, struct run_end *end, struct err *e)
{
	struct run *r = x->run;

	tree_unexempt(x->subprocess.child.pid);
	x->end = end;
	x->over = x->cancelling = x->stays = false;
	x->done_at = 0;
	x->prompts = NULL;
	x->calls = NULL;
	x->answers = NULL;
	x->next_option = 0;
	x->message[0] = '\0';
	exec_output_fini(&x->subprocess.output);
	exec_output_init(&x->subprocess.output, r);
	acp_add_prompt(x, r->start->prompt);
	return acp_config_read(&x->config, r->start, r->workspace->dir,
			       &r->arena, e) ||
			       acp_permissions_begin(x, e) || acp_resume(x, e)
		       ? -1
		       : 0;
}
