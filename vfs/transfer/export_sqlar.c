#include "vfs/transfer/transfer.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"
#include "lib/db/sql.h"
#include "lib/os/file.h"
#include "vfs/core/core.h"
#include "vfs/core/nanos.h"
#include "vfs/core/visit.h"
#include "vfs/snapshot/diff_source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* https://sqlite.org/sqlar.html: one row per file, zlib where it is smaller. */

#define CONTENT_MAX ((size_t)1 << 30)
#define ROW(F, S)        \
	F(S, text, name) \
	F(S, i64, mode) F(S, i64, modified) F(S, i64, size) F(S, blob, data)
SHAPE_DECLARE(sqlar_put, ROW);
SHAPE_DEFINE(sqlar_put, ROW);

static const unsigned char in_order[] = {0, 1, 2, 3, 4};
static const struct sql_query queries[] = {
	{.name = "sqlar",
	 .text = "INSERT INTO sqlar (name, mode, mtime, sz, data) VALUES (?1, "
		 "?2, ?3, ?4, ?5)",
	 .in = &sqlar_put_shape,
	 .in_map = in_order,
	 .nparams = 5},
};
static const struct sql_set set = {queries, 1};

struct writer {
	struct vfs *v;
	struct vfs_transfer *p;
	struct sql *db;
};

static void compress_content(struct sqlar_put *row, struct buf *plain,
			     char **packed)
{
	uLongf n = compressBound((uLong)plain->n);

	row->size = (int64_t)plain->n;
	row->data = (struct blob){plain->p, plain->n};
	*packed = malloc(n);
	if (!*packed)
		abort();
	if (compress((Bytef *)*packed, &n, (const Bytef *)plain->p,
		     (uLong)plain->n) == Z_OK &&
	    n < plain->n)
		row->data = (struct blob){*packed, n};
}

static int put_sqlar_entry(void *arg, const struct vfs_found *f, struct err *e)
{
	struct writer *w = arg;
	struct diff_source s = {.v = w->v};
	struct buf content = BUF_MAX(CONTENT_MAX);
	struct sqlar_put row = {
		.name = f->path,
		.mode = vfs_mode_out(f->attr.mode, w->p->keep_setuid),
		.modified = nanos_spec(f->attr.modified).tv_sec};
	char *packed = NULL;
	int rc;

	if (!*f->path || (!S_ISDIR(f->attr.mode) && !S_ISREG(f->attr.mode) &&
			  !S_ISLNK(f->attr.mode)))
		return 0; /* it has no format for others */
	rc = diff_source_content(&s, f->path, &f->attr, &content, e);
	if (rc == 0 && S_ISREG(f->attr.mode))
		compress_content(&row, &content, &packed);
	if (rc == 0 && S_ISLNK(f->attr.mode)) {
		row.size = -1;
		row.data = (struct blob){content.p, content.n};
	}
	if (rc == 0 && sql_exec(w->db, 0, &row, e) < 0)
		rc = -1;
	w->p->nodes++;
	w->p->bytes += (int64_t)content.n;
	vfs_transfer_report(w->p);
	free(packed);
	buf_fini(&content);
	return rc;
}

static int write_sqlar(struct writer *w, struct err *e)
{
	if (sql_script(w->db,
		       "CREATE TABLE sqlar (name TEXT PRIMARY KEY, mode INT, "
		       "mtime INT, sz INT, data BLOB)",
		       e) ||
	    sql_enter(w->db, e))
		return -1;
	if (sql_leave(w->db,
		      vfs_visit(w->v, w->p->path ? w->p->path : "",
				put_sqlar_entry, w, e),
		      e))
		return -1;
	return sql_script(w->db, "PRAGMA journal_mode=DELETE", e);
}

int vfs_export_sqlar(struct vfs *v, const char *file, struct vfs_transfer *p,
		     struct err *e)
{
	struct writer w = {.v = v, .p = p};
	int rc;

	p->nodes = p->bytes = 0;
	if (file_exists(file))
		return err_set(e, ERR_CONFLICT, "%s already exists", file);
	if (sql_open(&w.db, file, &set, SQL_CREATE, e))
		return -1;
	rc = write_sqlar(&w, e);
	sql_close(w.db);
	return rc;
}
