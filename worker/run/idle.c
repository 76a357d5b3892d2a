#include "worker/run/idle.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/os/process_tree.h"
#include "worker/workspace/workspace.h"

#include <poll.h>

#define NS_PER_MS 1000000
#define MARGIN_MS 2000 /* the time-out of the supervisor comes first */

/* Returns 1 if there is a next run, 0 if not yet, or -1. */
static int begin_next_run(struct run *r)
{
	struct arena a = {0};
	struct err e;
	struct msg m;
	int rc = 0;

	commands_quiet(&r->commands);
	while (rc == 0 && commands_next(&r->commands, &a, &m))
		if (m.type == MSG_TYPE_NEXT)
			rc = run_renew(r, m.u.next.start, &e) ? -1 : 1;
	if (rc < 0)
		log_error(LT("msg", "the next run cannot be taken"),
			  LT("why", e.text));
	arena_fini(&a);
	return rc;
}

bool idle_wait(struct run *r)
{
	int64_t until = clock_mono_ns() + (r->idle_ms + MARGIN_MS) * NS_PER_MS;
	int64_t left = 1;
	int next = 0;

	if (r->idle_ms == 0)
		return false;
	transcript_close(&r->transcript);
	atomic_store(&r->phase, RUN_IDLE);
	while (next == 0 && left > 0 && r->child_status == RUN_NO_STATUS &&
	       !run_ending(r)) {
		struct pollfd p[2] = {
			{.fd = r->commands.fd, .events = POLLIN},
			{.fd = r->signals, .events = POLLIN},
		};

		left = (until - clock_mono_ns()) / NS_PER_MS;
		(void)poll(p, 2, left < 0 ? 0 : (int)left);
		run_read_signals(r);
		if (!run_ending(r))
			next = begin_next_run(r);
	}
	return next > 0;
}

int idle_end(struct run *r, int64_t grace_ms, struct err *e)
{
	struct err why;
	int rc;

	r->idle_ms = 0;
	if (r->reuse)
		r->driver->release(r);
	rc = tree_end(grace_ms, r->child, &r->child_status, e);
	if (r->workspace && workspace_close(r->workspace, &why) && rc == 0) {
		*e = why;
		rc = -1;
	}
	r->workspace = NULL;
	return rc;
}
