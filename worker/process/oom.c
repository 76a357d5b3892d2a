#include "worker/process/oom.h"

#include "lib/base/text.h"
#include "lib/sandbox/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((int64_t)1 << 20)

struct memory {
	int count;    /* cgroup_oom_open */
	int64_t seen; /* killed so far */
};

void oom_begin(struct run *r)
{
	const char *dir = getenv(CGROUP_MEMORY_DIR);

	if (r->sandbox_spec.limits.memory == 0 || !dir)
		return;
	if (!r->memory) {
		r->memory = arena_alloc(&r->lasting, sizeof *r->memory);
		r->memory->count = cgroup_oom_open(dir);
	}
	r->memory->seen = cgroup_oom_read(r->memory->count);
}

bool oom_occurred(struct run *r)
{
	struct memory *m = r->memory;
	int64_t now = m ? cgroup_oom_read(m->count) : 0;
	bool more = m && now > m->seen;

	if (more)
		m->seen = now;
	return more;
}

/* Reasons that follow from the death of a process. */
static bool by_death(enum reason reason)
{
	return reason == REASON_signal || reason == REASON_exit_code ||
	       reason == REASON_exit_temporary ||
	       reason == REASON_agent_protocol;
}

void oom_classify(struct run *r, struct run_end *end)
{
	char how[sizeof end->detail];

	if (!by_death(end->reason) || !oom_occurred(r))
		return;
	end->reason = REASON_memory;
	memcpy(how, end->detail, sizeof how);
	text_printf(end->detail, sizeof end->detail,
		    "the kernel ended a process of the run, which took more "
		    "than limits.memory (%" PRId64 " MiB): %s",
		    r->sandbox_spec.limits.memory / MIB, how);
}
