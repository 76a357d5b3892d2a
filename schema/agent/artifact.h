#ifndef SCHEMA_AGENT_ARTIFACT_H
#define SCHEMA_AGENT_ARTIFACT_H

#include "lib/base/buf.h"
#include "lib/base/hash.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"
#include "schema/agent_queries.h"

/*
 * Artifacts of an agent file: any bytes under a natural key. They go in and out
 * piece by piece, so memory stays at one 64 KiB chunk whatever the size. What
 * is being written is invisible until artifact_commit; a writer that dies
 * leaves chunks that artifact_gc removes. Putting a key that is there
 * replaces bytes, mime and meta, and keeps the id.
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

/* A tool's output; name NULL: a new artifact at every put. */
struct artifact_key artifact_key_tool(const char *run, const char *call,
				      const char *name);
struct artifact_key artifact_key_run(const char *run, const char *path);
struct artifact_key artifact_key_named(const char *owner, const char *kind,
				       const char *name);

struct artifact_about { /* all zero is fine */
	const char *mime;
	const char *meta;  /* JSON object */
	int64_t max_bytes; /* ceiling, ERR_TOOBIG above; 0: the largest */
};

/* --- writing ---------------------------------------------------------- */

struct artifact_writer; /* gives one; free it with artifact_writer_close */

/* Checks key and about (ERR_USAGE, ERR_INVALID) and copies both. */
int artifact_writer_open(struct artifact_writer **out, struct sql *db,
			 const struct artifact_key *key,
			 const struct artifact_about *about, struct err *e);
/* After a failure only close is left. */
int artifact_write(struct artifact_writer *w, const void *p, size_t n,
		   struct err *e);
/* The transaction in which the artifact appears. It may stand in one of the
 * caller's (a fence, a transcript event) and is undone with that. */
int artifact_commit(struct artifact_writer *w, struct id *aid, struct err *e);
/* Without a commit before it, whatever was written is dropped. NULL is fine. */
void artifact_writer_close(struct artifact_writer *w);

/* Open, write, commit, close. aid may be NULL. */
int artifact_put(struct sql *db, const struct artifact_key *key,
		 const struct artifact_about *about, struct blob bytes,
		 struct id *aid, struct err *e);

/* --- reading ---------------------------------------------------------- */

/* 1, or 0 if there is none. Texts go to the arena. */
int artifact_get(struct sql *db, const char *aid, struct artifact_row *row,
		 struct arena *a, struct err *e);
int artifact_find(struct sql *db, const struct artifact_key *key,
		  struct artifact_row *row, struct arena *a, struct err *e);

struct artifact_reader; /* gives one; free it with artifact_reader_close */

/* ERR_NOTFOUND if there is no such artifact. */
int artifact_reader_open(struct artifact_reader **out, struct sql *db,
			 const char *aid, struct err *e);
/* 1 with the next piece, lent until the next call; 0 at the end, after size and
 * SHA-256 were found right; -1 with ERR_CORRUPT when they are not, or
 * ERR_STALE when it was replaced and removed by gc meanwhile. */
int artifact_read(struct artifact_reader *r, struct blob *piece, struct err *e);
void artifact_reader_close(struct artifact_reader *r); /* NULL is fine */

/* The whole of it to fd (`what` names fd in errors), checked at the end. */
int artifact_get_fd(struct sql *db, const char *aid, int fd, const char *what,
		    struct err *e);

/* --- lists, deletion, contracts --------------------------------------- */

struct artifact_filter { /* all zero: everything */
	const char *class;
	const char *owner;
	const char *kind;
	const char *prefix; /* of the name */
	const char *after;  /* aid of the last row of the page before */
	int count;          /* rows in a page; 0: 100 */
};

/* In the order in which they were made, as an array in the arena; how many. */
int artifact_list(struct sql *db, const struct artifact_filter *f,
		  struct artifact_row **rows, struct arena *a, struct err *e);

/* 1, or 0 if there is none. The space is freed by artifact_gc. */
int artifact_delete(struct sql *db, const char *aid, struct err *e);

/* Frees contents that were given up, replaced or deleted more than `age` ms
 * ago, and those whose writer has died (nothing came for an hour), in short
 * transactions, at most `max` chunks; returns how many chunks. Fewer than max:
 * nothing is left. A reader of what goes gets ERR_STALE. */
int artifact_gc(struct sql *db, int64_t age, int max, struct err *e);

/* Whether run has an artifact for each of the n paths; if not, ERR_INVALID with
 * the ones that are missing named. */
int artifact_check_required(struct sql *db, const char *run,
			    const char *const *paths, size_t n, struct err *e);

#endif
