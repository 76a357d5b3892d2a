#ifndef SUPERVISOR_API_CHANGE_LIST_H
#define SUPERVISOR_API_CHANGE_LIST_H

#include "supervisor/api/write_async.h"
#include "vfs/snapshot/diff.h"

/* Differences as the items of an answer, in the thread of an edit. */
struct change_list {
	struct edit *ed;
	struct diff_source from, to;
	bool text; /* with unified diffs */
};

vfs_difference_fn change_list_add; /* arg: a struct change_list */

#endif
