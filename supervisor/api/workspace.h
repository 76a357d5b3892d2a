#ifndef SUPERVISOR_API_WORKSPACE_H
#define SUPERVISOR_API_WORKSPACE_H

#include "supervisor/api/write_async.h"
#include "vfs/core/vfs.h"

/* Requests on a namespace of an agent, handled in a thread (write_async.h).
 * q->filter[0] is the agent, q->id the namespace, q->filter[1] a path. */
typedef int workspace_fn(struct edit *ed, struct agent_file *f, struct vfs *v,
			 struct err *e);

/* Calls fn with the open namespace, then answers. The first one only reads. */
void workspace_read(struct edit *ed, workspace_fn *fn);
void workspace_change(struct edit *ed, workspace_fn *fn);

struct edit *workspace_edit(struct api_request *q);

/* The answer of a change. */
void workspace_done(struct edit *ed, const char *note);

#endif
