#ifndef SCHEMA_AGENT_ARTIFACT_H
#define SCHEMA_AGENT_ARTIFACT_H

#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"
#include "schema/agent_queries.h"

/*
 * Artifacts of an agent file: any bytes under a natural key. They are written
 * and read in pieces, so memory stays at one chunk of 64 KiB for any size. An
 * artifact is invisible until artifact_commit; chunks of a writer that died are
 * deleted by artifact_gc. Writing to an existing key replaces bytes, mime and
 * meta, and keeps the id.
 *
 * Everything borrows `db`. Rows are struct artifact_row of agent_queries.h:
 *   aid class owner kind name mime meta size sha256 created_at updated_at
 */
#define ARTIFACT_CHUNK      65536
#define ARTIFACT_MAX_BYTES  ((int64_t)ARTIFACT_CHUNK << 20) /* 64 GiB */
#define ARTIFACT_NAME_MAX   1024
#define ARTIFACT_PENDING_MS 3600000

/* The key; see the table `artifact` in schema/agent. All texts are borrowed
 * during the call. */
struct artifact_key {
	const char *class; /* "tool", "run", "named", "media" */
	const char *owner;
	const char *kind; /* "" where the class has none */
	const char *name; /* run and media: a relative path */
};

/* The output of a tool; with name NULL, every put creates a new artifact. */
struct artifact_key artifact_key_tool(const char *run, const char *call,
				      const char *name);
struct artifact_key artifact_key_run(const char *run, const char *path);
struct artifact_key artifact_key_named(const char *owner, const char *kind,
				       const char *name);

struct artifact_about { /* may be all zero */
	const char *mime;
	const char *meta;  /* JSON object */
	int64_t max_bytes; /* limit, ERR_TOOBIG above it; 0: the maximum */
};

/* --- writing ---------------------------------------------------------- */

struct artifact_writer; /* gives one; free it with artifact_writer_close */

/* Checks key and about (ERR_USAGE, ERR_INVALID) and copies both. */
int artifact_writer_open(struct artifact_writer **out, struct sql *db,
			 const struct artifact_key *key,
			 const struct artifact_about *about, struct err *e);
/* After a failure, only close may be called. */
int artifact_write(struct artifact_writer *w, const void *p, size_t n,
		   struct err *e);
/* The transaction in which the artifact becomes visible. It may be part of a
 * transaction of the caller (a fence, a transcript event) and is rolled back
 * with it. */
int artifact_commit(struct artifact_writer *w, struct id *aid, struct err *e);
/* Without a previous commit, all written chunks are deleted. Accepts NULL. */
void artifact_writer_close(struct artifact_writer *w);

/* Open, write, commit, close. aid may be NULL. */
int artifact_put(struct sql *db, const struct artifact_key *key,
		 const struct artifact_about *about, struct blob bytes,
		 struct id *aid, struct err *e);

/* --- reading ---------------------------------------------------------- */

/* Returns 1, or 0 if there is none. Texts are in the arena. */
int artifact_get(struct sql *db, const char *aid, struct artifact_row *row,
		 struct arena *a, struct err *e);
int artifact_find(struct sql *db, const struct artifact_key *key,
		  struct artifact_row *row, struct arena *a, struct err *e);

struct artifact_reader; /* gives one; free it with artifact_reader_close */

/* ERR_NOTFOUND if there is no such artifact. */
int artifact_reader_open(struct artifact_reader **out, struct sql *db,
			 const char *aid, struct err *e);
/* Returns 1 with the next piece, which is valid until the next call; 0 at the
 * end, after size and SHA-256 were verified; -1 with ERR_CORRUPT if they do not
 * match, or ERR_STALE if the artifact was replaced and removed by gc
 * meanwhile. */
int artifact_read(struct artifact_reader *r, struct blob *piece, struct err *e);
void artifact_reader_close(struct artifact_reader *r); /* accepts NULL */

/* Writes the whole artifact to fd (`what` names fd in errors) and verifies it
 * at the end. */
int artifact_get_fd(struct sql *db, const char *aid, int fd, const char *what,
		    struct err *e);

/* --- lists, deletion, contracts --------------------------------------- */

struct artifact_filter { /* all zero: everything */
	const char *class;
	const char *owner;
	const char *kind;
	const char *prefix; /* of the name */
	const char *after;  /* aid of the last row of the previous page */
	int count;          /* rows per page; 0: 100 */
};

/* Returns the number of rows, in the order of their creation, as an array in
 * the arena. */
int artifact_list(struct sql *db, const struct artifact_filter *f,
		  struct artifact_row **rows, struct arena *a, struct err *e);

/* Returns 1, or 0 if there is none. artifact_gc frees the space. */
int artifact_delete(struct sql *db, const char *aid, struct err *e);

/* Deletes contents that were abandoned, replaced or deleted more than `age` ms
 * ago, and contents whose writer has died (no chunk for an hour), in short
 * transactions, at most `max` chunks. Returns the number of chunks; fewer than
 * max means that none is left. A reader of a deleted content gets ERR_STALE. */
int artifact_gc(struct sql *db, int64_t age, int max, struct err *e);

/* Checks that the run has an artifact for each of the n paths. If not,
 * ERR_INVALID names the missing ones. */
int artifact_check_required(struct sql *db, const char *run,
			    const char *const *paths, size_t n, struct err *e);

#endif
