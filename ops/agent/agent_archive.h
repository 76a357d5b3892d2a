#ifndef OPS_AGENT_AGENT_ARCHIVE_H
#define OPS_AGENT_AGENT_ARCHIVE_H

#include "lib/base/arena.h"
#include "lib/db/sql.h"
#include "ops/backup/manifest.h"
#include "ops/progress.h"
#include "ops/staging_dir.h"
#include "schema/control_queries.h"
#include "schema/home.h"

/*
 * The archive of one agent: its definition with all versions and bindings, a
 * snapshot of its file, and its workspace directory. Runs continue while it is
 * written. It contains no credentials and nothing of other agents.
 */
struct agent_export {
	struct sql *control; /* borrowed */
	const struct home *home;
	const char *agent;
	const char *id; /* of the archive */
	bool zstd;
	int fd; /* the output; may be a pipe */
	const char *name;
};

#define AGENT_EXPORT_SUM(F, S) \
	F(S, text, agent)      \
	F(S, text, path)       \
	F(S, i64, versions)    \
	F(S, i64, bytes)       \
	F(S, i64, files)
SHAPE_DECLARE(agent_export_sum, AGENT_EXPORT_SUM);

int agent_export(const struct agent_export *x, struct agent_export_sum *out,
		 struct err *e);

/*
 * Extracts an archive, verifies it and prepares it as the agent `name` (NULL:
 * its name in the archive): its file gets this owner and a higher epoch, runs
 * that were active in it fail as `restored`, and undelivered messages are held.
 * Nothing in the home changes. Then agent_bundle_import makes the directory
 * out->dir the agent, and staging_dir_close deletes what is left.
 */
struct agent_import {
	const struct home *home;
	const char *name;
	const char *id;
	int fd;
	const char *archive; /* its name, for errors */
	int64_t size;        /* 0: unknown */
	struct ops_progress progress;
	struct staging_dir work; /* .lock -1; the caller closes it */
};

#define AGENT_IMPORT_SUM(F, S)                                            \
	F(S, text, agent)                                                 \
	F(S, text, original) /* its name in the archive */                \
	F(S, i64, versions)                                               \
	F(S, i64, runs_failed)   /* were active */                        \
	F(S, i64, messages_held) /* may have been sent by the original */ \
	F(S, json, bindings)     /* held until they are confirmed */      \
	F(S, json, credentials)  /* files that must be supplied */        \
	F(S, json, variables)    /* of the environment, likewise */
SHAPE_DECLARE(agent_import_sum, AGENT_IMPORT_SUM);

int agent_import_stage(struct agent_import *x, struct agent_import_sum *out,
		       const char **dir, struct arena *a, struct err *e);

#endif
