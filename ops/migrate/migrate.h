#ifndef OPS_MIGRATE_MIGRATE_H
#define OPS_MIGRATE_MIGRATE_H

#include "lib/base/shape.h"
#include "ops/progress.h"
#include "ops/workdir.h"
#include "schema/control_queries.h"
#include "schema/home.h"

#include <cjson/cJSON.h>

/*
 * State of other programs becomes ours. One walk over the source serves plan,
 * apply and the doctor: each file is given to the importer that knows it, and
 * comes out as pieces: sessions, workspaces, artifacts, definitions of agents,
 * credentials. What nobody takes is a piece too, of the importer "unknown", with
 * the reason: nothing is dropped silently.
 *
 * A plan counts and changes nothing. An apply commits each piece by itself, then
 * notes it in migration_source. A piece that is noted for the same target with
 * the same content (size and hash; another time of change does not matter) is
 * not taken again. One that is not noted as it is now is compared with what is
 * there, event by event: what is there already, be it from a run of ours that
 * was killed or from before the source grew, stays, and the rest is added. A
 * source that tells another story than before is a warning and adds nothing. A
 * failure keeps the source and is a warning.
 */
#define MIGRATE_PIECE(F, S)                                              \
	F(S, text, importer)                                             \
	F(S, text, path)   /* of the file, #part within it */            \
	F(S, text, target) /* "agent/session", "agent:space" */          \
	F(S, i64, bytes)                                                 \
	F(S, i64, records)                                               \
	F(S, i64, added) /* of them, now */                              \
	F(S, text, sha256)                                               \
	F(S, text, state) /* planned, imported, done, failed, unknown */ \
	F(S, text, warning)
SHAPE_DECLARE(migrate_piece, MIGRATE_PIECE);

struct migrate_sum {
	int64_t pieces, planned, imported, done, unknown, failed, records;
};

/* How rows of the control plane are written: by us, or by the supervisor that
 * lives. Not needed for a plan. */
struct migrate_host {
	void *arg;
	/* Makes the agent, or fills one that nobody has defined yet: 1; 0 if it
	 * is there as it should be; -1, ERR_CONFLICT: there is another one by
	 * that name. def NULL: whatever it is, it must be there. */
	int (*agent)(void *arg, const char *name, const cJSON *def,
		     struct err *e);
	/* Its file, made if it is not there; the row is in the arena. */
	int (*file)(void *arg, const char *agent,
		    struct agent_database_row *row, struct arena *a,
		    struct err *e);
	int (*run)(void *arg, struct migration_run_row *row, struct err *e);
	int (*source)(void *arg, struct migration_source_row *row,
		      struct err *e);
	/* All pieces of the file: "deleted", or where it was moved to. */
	int (*removed)(void *arg, const char *path, const char *where,
		       struct err *e);
};

struct migrate {
	/* given by the caller */
	const struct home *home;
	const struct migrate_host *host; /* NULL: only a plan */
	const char *root;                /* the source: a directory or a file */
	const char *agent;   /* for pieces that name none; NULL: "imported" */
	struct sql *control; /* to read; a plan's may be NULL */
	const char *backup;  /* made before; NULL: none */
	const char *after; /* NULL: sources stay; "delete"; where to move to */
	void (*tell)(void *arg, const struct migrate_piece *p);
	void *arg;
	/* its own */
	struct migrate_sum sum;
	const char *run; /* mig_… */
	struct workdir work;
	struct arena arena; /* of the whole walk */
	struct migrate_file *file;
	struct migrate_session *session;
	const char
		*aside_of; /* the last database that was read beside another */
	cJSON *aside;      /* file, and what is in it */
};

/* ERR_INVALID if nothing in it is known. The caller frees the arena. */
int migrate_plan(struct migrate *m, struct err *e);

/* The same with its deeds, and a row in migration_run. ERR_FAILED if some
 * pieces were not taken whole. */
int migrate_apply(struct migrate *m, struct err *e);

#endif
