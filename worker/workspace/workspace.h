#ifndef WORKER_WORKSPACE_WORKSPACE_H
#define WORKER_WORKSPACE_WORKSPACE_H

#include "lib/base/err.h"
#include "worker/process/child.h"
#include "worker/run/run.h"
#include "worker/workspace/files.h"

#include <limits.h>

/*
 * Where the commands of a run work.
 *
 *   disk         a directory of the host
 *   vfs-scratch  the agent's namespace "main" over a directory of the host that
 *                is only read
 *   vfs-only     the agent's namespace "main", and nothing below it
 *
 * The vfs modes are a FUSE mount that only the run's own processes see: a
 * process of ours (skep-worker --mount) makes a mount namespace, mounts there
 * and serves; commands enter the namespace as they start. Nothing of it is
 * left on the host, whoever dies. Drivers that start no commands need none of
 * this, and work where there is no FUSE; so do tools that know the namespace
 * itself (workspace_open_tools).
 */
#define WORKSPACE_PLACE "/mnt" /* covered by an empty tmpfs, with it in */
#define WORKSPACE_MOUNT WORKSPACE_PLACE "/workspace"
#define WORKSPACE_LOST  "the process that served the workspace died"

struct workspace {
	struct run *run;
	const char *dir;    /* as commands see it */
	struct child mount; /* .pid 0: no mount */
	bool served;        /* the mount was there */
	bool lost;          /* its process died before that */
	struct child_ns ns;
	struct files store; /* its files, for us; .kind NULL: not to be had */
	const char *lacks;  /* why there is no mount where one was wanted */
};

/* Opens the workspace of the run, as r->workspace, which is closed when the run
 * ends. ERR_UNSUPPORTED where the machine cannot mount; ERR_CANCELED if the run
 * shall end meanwhile. */
int workspace_open(struct run *r, struct err *e);

/* The same for a driver with tools of its own. In the vfs modes there is a mount
 * only for `commands`, and where none can be had the tools still work: `open`
 * (files_vfs, which not every program has) gives them the namespace. */
typedef int workspace_opener(struct files *s, const char *dir,
			     const struct files_plan *p, struct err *e);
int workspace_open_tools(struct run *r, bool commands, workspace_opener *open,
			 struct err *e);

/* 0 if commands can be started; ERR_UNSUPPORTED says why not. */
int workspace_commands(const struct workspace *w, struct err *e);

/* Whether the workspace is a directory of the host, and which. */
bool workspace_is_host(const struct run *r);
const char *workspace_host_dir(struct run *r);

/* The path of skep-worker, for processes that we or an agent start. */
int workspace_program(char out[PATH_MAX], struct err *e);

/* The namespaces that commands must enter, or NULL. */
const struct child_ns *workspace_ns(const struct workspace *w);

/* The directory itself, as we see it, for the caller to close; -1: not to be
 * had. */
int workspace_dir(const struct workspace *w);

/* Whether its mount died, so that what commands wrote may be lost. */
bool workspace_is_lost(const struct workspace *w);

/* After the commands are gone: what they wrote is committed when this returns. */
int workspace_close(struct workspace *w, struct err *e);

/* The process that serves the mount: prints "ready", or why it cannot, on
 * stdout. `base` is the host directory below, or ""; `max` a number of bytes for
 * a new namespace. Returns an exit status. */
int workspace_serve(const char *agent_db, const char *agent, const char *base,
		    const char *max);

#endif
