#ifndef CLI_RUN_PS_VIEW_H
#define CLI_RUN_PS_VIEW_H

#include "cli/cli.h"
#include "schema/control/run.h"

/*
 * Rows of runs for ps and top. Active runs and idle workers come from the
 * supervisor, which knows their processes; everything else is in the control
 * plane.
 */
#define PS_ROW(F, S)           \
	F(S, text, id)         \
	F(S, text, agent)      \
	F(S, text, state)      \
	F(S, text, reason)     \
	F(S, time, created_at) \
	F(S, i64, events)      \
	F(S, text, memory)     \
	F(S, opt, processes)   \
	F(S, text, severity)   \
	F(S, text, health)     \
	F(S, text, name)       \
	F(S, text, session)    \
	F(S, text, phase)      \
	F(S, i64, attempt)     \
	F(S, opt, pid)         \
	F(S, opt, rss_bytes)   \
	F(S, time, ended_at) F(S, text, invocation) F(S, json, tags)
SHAPE_DECLARE(ps_row, PS_ROW);

#define PS_COLUMNS \
	"id agent state reason created_at events memory severity name"

struct ps_filter {
	const char *agent, *tag, *invocation; /* only these; NULL: all */
	int64_t queued; /* queued runs to list; 0: only active ones */
};

/* The path of the request that lists active runs. */
const char *ps_path(struct cli *cli, const struct ps_filter *f);

/* Calls fn for each active, idle and queued run. Rows are valid during the
 * call. */
int ps_active(struct cli *cli, const struct ps_filter *f,
	      void (*fn)(void *arg, struct ps_row *row), void *arg,
	      struct err *e);

/* A run from the control plane. Borrows the texts. */
struct ps_row ps_row_of(const struct run_row *row);

#endif
