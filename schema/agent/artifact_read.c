/* Reading, listing and gc of artifacts; schema/agent/artifact.c writes
 * them. */
#include "schema/agent/artifact.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/os/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LIST_COUNT 100
#define LIST_MAX   1000
#define GC_BATCH   16 /* chunks per transaction: 1 MiB */

int artifact_get(struct sql *db, const char *aid, struct artifact_row *row,
		 struct arena *a, struct err *e)
{
	return sql_get(db, Q_ARTIFACT_BY_AID, &(struct artifact_by_aid_in){aid},
		       row, a, e);
}

int artifact_find(struct sql *db, const struct artifact_key *key,
		  struct artifact_row *row, struct arena *a, struct err *e)
{
	struct artifact_by_key_in in = {
		.owner = key->owner,
		.class = key->class,
		.kind = key->kind ? key->kind : "",
		.name = key->name,
	};

	return sql_get(db, Q_ARTIFACT_BY_KEY, &in, row, a, e);
}

struct artifact_reader {
	struct sql *db;
	struct id aid;
	int64_t content;
	int64_t size;
	int64_t chunks;
	int64_t done; /* bytes returned so far */
	char sha256[HASH_HEX];
	struct hash *hash;
	size_t n;
	char buf[ARTIFACT_CHUNK];
};

int artifact_reader_open(struct artifact_reader **out, struct sql *db,
			 const char *aid, struct err *e)
{
	struct artifact_content_of_row row;
	struct artifact_reader *r;
	struct arena a = {0};
	int found = sql_get(db, Q_ARTIFACT_CONTENT_OF,
			    &(struct artifact_content_of_in){aid}, &row, &a, e);

	if (found <= 0)
		return found < 0 ? -1
				 : err_set(e, ERR_NOTFOUND,
					   "there is no artifact '%s'",
					   quoted(aid).text);
	r = calloc(1, sizeof *r);
	if (!r)
		abort();
	r->db = db;
	snprintf(r->aid.text, sizeof r->aid.text, "%s", aid);
	r->content = row.content;
	r->size = row.size;
	snprintf(r->sha256, sizeof r->sha256, "%s", row.sha256);
	r->hash = hash_new();
	arena_fini(&a);
	*out = r;
	return 0;
}

/* The chunk is copied: a statement that stays open while the caller writes to a
 * pipe would prevent a reset of the WAL. Returns 1, 0 if it is missing, -1. */
static int fetch_chunk(struct artifact_reader *r, struct err *e)
{
	struct artifact_chunk_get_in in = {r->content << 20 | r->chunks};
	struct artifact_chunk_get_row row;
	struct sql_rows it = sql_rows(r->db, Q_ARTIFACT_CHUNK_GET, &in);
	bool found = sql_next(&it, &row);

	r->n = 0;
	if (found && row.data.n <= sizeof r->buf) {
		r->n = row.data.n;
		memcpy(r->buf, row.data.p, r->n);
	}
	if (sql_end(&it, e))
		return -1;
	return found && r->n > 0;
}

static int explain_gap(struct artifact_reader *r, struct err *e)
{
	struct artifact_content_is_ready_row row;
	int found = sql_get(r->db, Q_ARTIFACT_CONTENT_IS_READY,
			    &(struct artifact_content_is_ready_in){r->content},
			    &row, NULL, e);

	if (found < 0)
		return -1;
	if (!found || !row.is_ready)
		return err_set(e, ERR_STALE,
			       "artifact %s was replaced or deleted while it "
			       "was being read",
			       r->aid.text);
	return err_set(e, ERR_CORRUPT,
		       "artifact %s is damaged: chunk %" PRId64 " is missing",
		       r->aid.text, r->chunks);
}

static int verify_hash(struct artifact_reader *r, struct err *e)
{
	char sha256[HASH_HEX];

	if (!r->hash) /* called again after the end */
		return 0;
	hash_end(r->hash, sha256);
	r->hash = NULL;
	if (r->done == r->size && strcmp(sha256, r->sha256) == 0)
		return 0;
	return err_set(e, ERR_CORRUPT,
		       "artifact %s is damaged: its SHA-256 is "
		       "%.12s…, expected %.12s…",
		       r->aid.text, sha256, r->sha256);
}

int artifact_read(struct artifact_reader *r, struct blob *piece, struct err *e)
{
	int rc;

	if (r->done >= r->size)
		return verify_hash(r, e);
	rc = fetch_chunk(r, e);
	if (rc <= 0)
		return rc < 0 ? -1 : explain_gap(r, e);
	hash_add(r->hash, r->buf, r->n);
	r->done += (int64_t)r->n;
	r->chunks++;
	*piece = (struct blob){r->buf, r->n};
	return 1;
}

void artifact_reader_close(struct artifact_reader *r)
{
	if (!r)
		return;
	hash_free(r->hash);
	free(r);
}

int artifact_get_fd(struct sql *db, const char *aid, int fd, const char *what,
		    struct err *e)
{
	struct artifact_reader *r;
	struct blob piece;
	int rc;

	if (artifact_reader_open(&r, db, aid, e))
		return -1;
	while ((rc = artifact_read(r, &piece, e)) > 0)
		if (file_write_fd(fd, what, piece.p, piece.n, e)) {
			rc = -1;
			break;
		}
	artifact_reader_close(r);
	return rc;
}

/* --- lists, deletion, contracts --------------------------------------- */

int artifact_list(struct sql *db, const struct artifact_filter *f,
		  struct artifact_row **rows, struct arena *a, struct err *e)
{
	int count = f->count <= 0 ? LIST_COUNT : f->count;
	const char *after = f->after ? f->after : "";
	const char *prefix = f->prefix ? f->prefix : "";

	if (count > LIST_MAX)
		count = LIST_MAX;
	if (f->owner) {
		struct artifact_list_owner_in in = {f->owner, f->class, f->kind,
						    prefix,   after,    count};

		return sql_collect(db, Q_ARTIFACT_LIST_OWNER, &in, count, rows,
				   a, e);
	}
	return sql_collect(db, Q_ARTIFACT_LIST,
			   &(struct artifact_list_in){f->class, f->kind, prefix,
						      after, count},
			   count, rows, a, e);
}

int artifact_delete(struct sql *db, const char *aid, struct err *e)
{
	return sql_exec(db, Q_ARTIFACT_DELETE,
			&(struct artifact_delete_in){aid}, e);
}

/* Deletes up to `count` chunks of one content. Returns the number or -1; *more
 * is false when no unreachable content is left. */
static int gc_some(struct sql *db, int64_t before, int count, bool *more,
		   struct err *e)
{
	struct artifact_content_loose_in in = {
		.dead = before, .pending = clock_now() - ARTIFACT_PENDING_MS};
	struct artifact_content_loose_row row;
	int n;

	n = sql_get(db, Q_ARTIFACT_CONTENT_LOOSE, &in, &row, NULL, e);
	*more = n > 0;
	if (n <= 0)
		return n;
	n = sql_exec(db, Q_ARTIFACT_CHUNK_DROP,
		     &(struct artifact_chunk_drop_in){row.id, count}, e);
	if (n >= 0 && n < count &&
	    sql_exec(db, Q_ARTIFACT_CONTENT_DROP,
		     &(struct artifact_content_drop_in){row.id}, e) < 0)
		return -1;
	return n;
}

int artifact_gc(struct sql *db, int64_t age, int max, struct err *e)
{
	int64_t before = clock_now() - age;
	bool more = true;
	int total = 0;

	while (more && total < max) {
		int batch = max - total < GC_BATCH ? max - total : GC_BATCH;
		int n;

		if (sql_enter(db, e))
			return -1;
		n = sql_leave(db, gc_some(db, before, batch, &more, e), e);
		if (n < 0)
			return -1;
		total += n;
	}
	return total;
}

int artifact_check_required(struct sql *db, const char *run,
			    const char *const *paths, size_t n, struct err *e)
{
	struct buf missing = BUF_MAX(300);
	struct arena a = {0};
	size_t count = 0;
	int found = 0;

	for (size_t i = 0; i < n && found >= 0; i++) {
		struct artifact_key key = artifact_key_run(run, paths[i]);
		struct artifact_row row;

		found = artifact_find(db, &key, &row, &a, e);
		if (found == 0) {
			count++;
			buf_addf(&missing, "%s%s", missing.n ? ", " : "",
				 quoted(paths[i]).text);
		}
	}
	arena_fini(&a);
	if (found >= 0 && count > 0)
		found = err_set(e, ERR_INVALID,
				"%s did not create %zu of its %zu required "
				"artifacts: %s%s",
				run, count, n, missing.p,
				missing.over ? " …" : "");
	buf_fini(&missing);
	return found < 0 ? -1 : 0;
}
