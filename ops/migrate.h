#ifndef OPS_MIGRATE_H
#define OPS_MIGRATE_H

#include "base/home.h"
#include "base/shape.h"
#include "ops/foreign.h"
#include "ops/tell.h"
#include "ops/workdir.h"
#include "schema/control_queries.h"

/*
 * State of other programs becomes ours. One walk over the source serves both
 * plan and apply: each file is given to the importer that knows it, and comes out
 * as pieces: sessions, workspaces, agents. What nobody knows is a piece too, of
 * the importer "unknown", so that nothing is dropped silently.
 *
 * A plan counts and changes nothing. An apply commits each piece by itself, then
 * notes it in migration_source; a piece that is noted, unchanged and for the same
 * target, is not taken again, and one that was committed just before a kill is
 * recognised by what its session says about where it came from. A failure keeps
 * the source and is a warning.
 */
#define MIGRATE_PIECE(F, S)                                              \
	F(S, text, importer)                                             \
	F(S, text, path)   /* of the file, #part within it */            \
	F(S, text, target) /* "agent/session", "agent:space" */          \
	F(S, i64, bytes)                                                 \
	F(S, i64, records)                                               \
	F(S, text, sha256)                                               \
	F(S, text, state) /* planned, imported, done, failed, unknown */ \
	F(S, text, warning)
SHAPE_DECLARE(migrate_piece, MIGRATE_PIECE);

struct migrate_sum {
	int64_t pieces, imported, done, unknown, failed, records;
};

struct migrate {
	/* given by the caller */
	const struct home *home;
	const char *root;    /* the source: a directory or a file */
	const char *agent;   /* for pieces that name none */
	const char *run;     /* mig_…; NULL: only a plan */
	struct sql *control; /* apply: for writing; plan: may be NULL */
	const char *after;   /* "keep", "delete", or a directory to move to */
	void (*tell)(void *arg, const struct migrate_piece *p);
	void *arg;
	/* its own */
	struct migrate_sum sum;
	struct workdir work;
	struct arena arena; /* of the whole walk */
	struct migrate_file *file;
	struct migrate_session *session;
};

/* ERR_INVALID if nothing in it is known. */
int migrate_walk(struct migrate *m, struct err *e);

/* --- for importers (import_*.c) ---------------------------------------------- */

/* What importers are told of the file at hand. */
struct migrate_file {
	const char *path;
	struct foreign_mark mark;
	bool claimed; /* an importer knows it */
	bool failed;  /* something in it could not be taken */
};

struct session_piece {
	const char *importer;
	const char *part; /* within the file, or NULL */
	const char *agent, *key, *title, *model;
	int64_t created_at;
};

struct foreign_event {
	const char *id, *parent; /* theirs; NULL: none, the one before */
	const char *type;        /* ours */
	int64_t at;
	const cJSON *body;
};

/* 1: give its events; 0: it was done before. Failures become warnings and are
 * no failure here, except for those of the control plane. */
int migrate_session(struct migrate *m, const struct session_piece *p,
		    struct err *e);
void migrate_event(struct migrate *m, const struct foreign_event *ev);
/* broken: why its events could not all be read, or NULL. */
int migrate_session_end(struct migrate *m, const char *broken, struct err *e);

/* A file of AgentFS becomes a workspace. */
int migrate_space(struct migrate *m, const char *name, struct err *e);

/* A part of the file that nobody takes. */
void migrate_unknown(struct migrate *m, const char *part, int64_t records,
		     const char *why);

/* An agent by this name, made if there is none. The name is made fit. */
const char *migrate_agent_name(struct migrate *m, const char *name);

/* An event of an OpenClaw transcript; `at` is when it says nothing itself. */
void migrate_openclaw(struct migrate *m, const cJSON *v, int64_t at);

int import_jsonl(struct migrate *m, struct err *e);
int import_database(struct migrate *m, struct err *e);
int import_run(struct migrate *m, struct err *e);

/* Body of a message: role, content, and what else it had. Caller frees. */
cJSON *migrate_message(const cJSON *row, const char *role,
		       const cJSON *content);

#endif
