#ifndef OPS_IMPORT_IMPORT_H
#define OPS_IMPORT_IMPORT_H

#include "lib/base/shape.h"
#include "ops/progress.h"
#include "ops/staging_dir.h"
#include "schema/control_queries.h"
#include "schema/home.h"

#include <cjson/cJSON.h>

/*
 * Imports the state of other programs. Plan, apply and doctor use the same walk
 * over the source: each file is passed to the importer that recognizes it,
 * which turns it into items: sessions, workspaces, artifacts, agent
 * definitions, credentials. Unsupported data is an item of the importer
 * "unknown", with the reason, so nothing is dropped silently.
 *
 * A plan counts and changes nothing. An apply commits each item separately and
 * then records it in import_item. An item that is recorded for the same
 * target with the same content (size and hash; the modification time does not
 * matter) is not imported again. Any other item is compared with the existing
 * data event by event: existing events stay, whether they are from a killed
 * import or from before the source grew, and new ones are added. A source that
 * contradicts the existing data is a warning and adds nothing. A failure keeps
 * the source and is a warning.
 */
#define IMPORT_ITEM(F, S)                                                \
	F(S, text, importer)                                             \
	F(S, text, path)   /* of the file, #part within it */            \
	F(S, text, target) /* "agent/session", "agent:space" */          \
	F(S, i64, bytes)                                                 \
	F(S, i64, records)                                               \
	F(S, i64, added) /* of them, added now */                        \
	F(S, text, sha256)                                               \
	F(S, text, state) /* planned, imported, done, failed, unknown */ \
	F(S, text, warning)
SHAPE_DECLARE(import_item, IMPORT_ITEM);

struct import_sum {
	int64_t items, planned, imported, done, unknown, failed, records;
};

/* How to write rows of the control plane: directly, or through the running
 * supervisor. Not needed for a plan. */
struct import_writer {
	void *arg;
	/* Creates the agent, or completes one without a definition: 1; 0 if it
	 * already exists as requested; -1 with ERR_CONFLICT: another agent has
	 * that name. def NULL: it must exist, with any definition. */
	int (*agent)(void *arg, const char *name, const cJSON *def,
		     struct err *e);
	/* Its file, created if necessary; the row is in the arena. */
	int (*file)(void *arg, const char *agent,
		    struct agent_database_row *row, struct arena *a,
		    struct err *e);
	int (*run)(void *arg, struct import_run_row *row, struct err *e);
	int (*source)(void *arg, struct import_item_row *row, struct err *e);
	/* For all items of the file: "deleted", or its new path. */
	int (*removed)(void *arg, const char *path, const char *where,
		       struct err *e);
};

struct import_run {
	/* set by the caller */
	const struct home *home;
	const struct import_writer *host; /* NULL: only a plan */
	const char *root;    /* the source: a directory or a file */
	const char *agent;   /* for items without an agent; NULL: "imported" */
	struct sql *control; /* for reading; may be NULL for a plan */
	const char *backup;  /* made before; NULL: none */
	const char *after;   /* NULL: keep sources; "delete"; or a directory */
	void (*report)(void *arg, const struct import_item *p);
	void *arg;
	/* internal */
	struct import_sum sum;
	const char *run; /* imp_… */
	struct staging_dir work;
	struct arena arena; /* of the whole walk */
	struct import_file *file;
	struct import_session *session;
	const char *sidecar_path; /* the last database that was read beside a */
	cJSON *sidecar;           /* file, and its content */
};

/* ERR_INVALID if nothing in it is recognized. The caller frees the arena. */
int import_plan(struct import_run *m, struct err *e);

/* The same with the changes, and a row in import_run. ERR_FAILED if some
 * items were not imported completely. */
int import_apply(struct import_run *m, struct err *e);

#endif
