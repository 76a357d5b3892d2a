#include "schema/agent/gc.h"

#include "schema/agent/artifact.h"
#include "schema/agent/cache.h"

SHAPE_DEFINE(swept, SWEPT);

int agent_sweep(struct agent_file *f, int64_t age, int max, struct swept *out,
		struct err *e)
{
	int chunks = artifact_sweep(f->db, age, max, e);
	int cached = chunks < 0 ? -1 : cache_sweep(f->db, max, e);

	if (cached < 0)
		return -1;
	*out = (struct swept){f->agent, chunks, cached};
	return 0;
}
