#ifndef SCHEMA_AGENT_GC_H
#define SCHEMA_AGENT_GC_H

#include "lib/base/shape.h"
#include "schema/agent/agent_file.h"

/*
 * Garbage collection in an agent file: contents of artifacts that were
 * replaced, deleted or abandoned, and expired values.
 */
#define GC_RESULT(F, S)   \
	F(S, text, agent) \
	F(S, i64, chunks) \
	F(S, i64, cached)
SHAPE_DECLARE(gc_result, GC_RESULT);

/* Deletes data that has been unreachable for `age` ms, in short transactions,
 * at most `max` of each kind. */
int agent_gc(struct agent_file *f, int64_t age, int max, struct gc_result *out,
	     struct err *e);

#endif
