#ifndef SCHEMA_AGENT_GC_H
#define SCHEMA_AGENT_GC_H

#include "lib/base/shape.h"
#include "schema/agent/agent_file.h"

/*
 * What lies about in an agent file and nobody can see any more: bytes of
 * artifacts that were replaced, deleted or given up, values that have expired.
 */
#define GC_RESULT(F, S)   \
	F(S, text, agent) \
	F(S, i64, chunks) \
	F(S, i64, cached)
SHAPE_DECLARE(gc_result, GC_RESULT);

/* Frees what has been dead for `age` ms, in short transactions, at most `max`
 * of each. */
int agent_gc(struct agent_file *f, int64_t age, int max, struct gc_result *out,
	     struct err *e);

#endif
