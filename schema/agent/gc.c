#include "schema/agent/gc.h"

#include "schema/agent/artifact.h"
#include "schema/agent/cache.h"

SHAPE_DEFINE(gc_result, GC_RESULT);

int agent_gc(struct agent_file *f, int64_t age, int max, struct gc_result *out,
	     struct err *e)
{
	int chunks = artifact_gc(f->db, age, max, e);
	int cached = chunks < 0 ? -1 : cache_gc(f->db, max, e);

	if (cached < 0)
		return -1;
	*out = (struct gc_result){f->agent, chunks, cached};
	return 0;
}
