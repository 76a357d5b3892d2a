#ifndef WORKER_WORKSPACE_WORKSPACE_H
#define WORKER_WORKSPACE_WORKSPACE_H

#include "lib/base/err.h"
#include "worker/process/child.h"
#include "worker/run/run.h"
#include "worker/workspace/files.h"

#include <limits.h>

/*
 * The workspace of a run's commands.
 *
 *   disk         a directory of the host
 *   vfs-scratch  a namespace of the agent over a directory of the host, which
 *                is only read
 *   vfs-only     a namespace of the agent without a lower directory
 *
 * The vfs modes use a FUSE mount that only the run's own processes see:
 * skep-worker --mount creates a mount namespace, mounts in it and serves;
 * commands enter the namespace when they start. Nothing of it is left on the
 * host, whichever process dies. Drivers that start no commands do not need
 * this, and work without FUSE; so do tools that use the namespace directly
 * (workspace_open_tools).
 */
#define WORKSPACE_PLACE "/mnt" /* covered by an empty tmpfs that contains it */
#define WORKSPACE_MOUNT WORKSPACE_PLACE "/workspace"
#define WORKSPACE_BUSY  '+'
#define WORKSPACE_LOST  "the process that served the workspace died"

struct workspace {
	struct run *run;
	const char *dir;    /* as commands see it */
	struct child mount; /* .pid 0: no mount */
	bool served;        /* the mount existed */
	bool lost;          /* its process died before that */
	struct child_ns ns;
	struct files store; /* its files, for the worker; .kind NULL: not
			     * available */
	const char *lacks;  /* why there is no mount */
	int64_t opened_by;  /* row of the run, in the agent file; 0: unknown */
};

/* Opens the workspace of the run as r->workspace, which is closed when the run
 * ends. ERR_UNSUPPORTED if the machine cannot mount; ERR_CANCELED if the end of
 * the run is requested meanwhile. */
int workspace_open(struct run *r, struct err *e);

/* The same for a driver with its own tools. In the vfs modes there is a mount
 * only for `commands`; without one the tools still work: `open` (files_vfs,
 * which not every program has) gives them the namespace. */
typedef int workspace_opener(struct files *s, const char *dir, struct sql *db,
			     const struct files_plan *p, struct err *e);
int workspace_open_tools(struct run *r, bool commands, workspace_opener *open,
			 struct err *e);

/* 0 if commands can be started; ERR_UNSUPPORTED has the reason why not. */
int workspace_commands(const struct workspace *w, struct err *e);

/* Whether the workspace is a directory of the host, and its path. */
bool workspace_is_host(const struct run *r);
const char *workspace_host_dir(struct run *r);
/* Otherwise: the namespace. */
const char *workspace_namespace(const struct run *r);

/* The path of skep-worker, for processes that we or an agent start. */
int workspace_program(char out[PATH_MAX], struct err *e);

/* The namespaces that commands must enter, or NULL. */
const struct child_ns *workspace_ns(const struct workspace *w);

/* Opens the directory itself, as the worker sees it; the caller closes it. -1:
 * not available. */
int workspace_dir(const struct workspace *w);

/* Whether its mount died, so that writes of commands may be lost. */
bool workspace_is_lost(const struct workspace *w);

/* Call it after the commands have exited: their writes are committed when this
 * returns. */
int workspace_close(struct workspace *w, struct err *e);

/* The process that serves the mount: prints "ready", or an error, on stdout;
 * before that, WORKSPACE_BUSY from time to time while it copies contents.
 * `plan` is a struct files_plan as JSON. Returns an exit status. */
int workspace_serve(const char *agent_db, const char *agent, const char *plan);

#endif
