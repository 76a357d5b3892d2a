#include "lib/db/sql.h"

#include "lib/db/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct stmt *sql_stmt(struct sql *db, unsigned query)
{
	struct stmt *s = &db->stmts[query];
	const struct sql_query *q = &db->set->queries[query];

	if (s->st)
		return s;
	s->rc = sqlite3_prepare_v3(db->conn, q->text, -1,
				   SQLITE_PREPARE_PERSISTENT, &s->st, NULL);
	return s;
}

static int bind_text(sqlite3_stmt *st, int i, const char *text)
{
	return text ? sqlite3_bind_text(st, i, text, -1, SQLITE_STATIC)
		    : sqlite3_bind_null(st, i);
}

static int bind_field(sqlite3_stmt *st, int i, const struct field *f,
		      const void *in)
{
	const void *at = field_in(f, in);
	const struct blob *b = at;

	switch (f->type) {
	case FIELD_i64:
		return sqlite3_bind_int64(st, i, *(const field_i64 *)at);
	case FIELD_opt:
	case FIELD_time:
		return *(const field_opt *)at == OPT_NONE
			       ? sqlite3_bind_null(st, i)
			       : sqlite3_bind_int64(st, i,
						    *(const field_opt *)at);
	case FIELD_bool:
		return sqlite3_bind_int64(st, i, *(const field_bool *)at);
	case FIELD_f64:
		return sqlite3_bind_double(st, i, *(const field_f64 *)at);
	case FIELD_text:
	case FIELD_json:
		return bind_text(st, i, *(const field_text *)at);
	case FIELD_blob:
		return b->p ? sqlite3_bind_blob64(st, i, b->p, b->n,
						  SQLITE_STATIC)
			    : sqlite3_bind_null(st, i);
	}
	return SQLITE_MISUSE;
}

static int64_t column_opt(sqlite3_stmt *st, int i)
{
	return sqlite3_column_type(st, i) == SQLITE_NULL
		       ? OPT_NONE
		       : sqlite3_column_int64(st, i);
}

static void read_field(sqlite3_stmt *st, int i, const struct field *f,
		       void *row)
{
	void *at = field_out(f, row);

	switch (f->type) {
	case FIELD_i64:
		*(field_i64 *)at = sqlite3_column_int64(st, i);
		break;
	case FIELD_opt:
	case FIELD_time:
		*(field_opt *)at = column_opt(st, i);
		break;
	case FIELD_bool:
		*(field_bool *)at = sqlite3_column_int64(st, i) != 0;
		break;
	case FIELD_f64:
		*(field_f64 *)at = sqlite3_column_double(st, i);
		break;
	case FIELD_text:
	case FIELD_json:
		*(field_text *)at = (const char *)sqlite3_column_text(st, i);
		break;
	case FIELD_blob:
		*(struct blob *)at = (struct blob){
			sqlite3_column_blob(st, i),
			(size_t)sqlite3_column_bytes(st, i)};
		break;
	}
}

struct sql_rows sql_rows(struct sql *db, unsigned query, const void *in)
{
	const struct sql_query *q = &db->set->queries[query];
	struct stmt *s = sql_stmt(db, query);
	struct sql_rows it = {db, query, SQLITE_OK};

	assert(!s->busy && "one walk of a query at a time");
	assert((in || q->nparams == 0) && "the query has parameters");
	s->busy = true;
	if (!s->st) {
		it.rc = s->rc;
		return it;
	}
	/* a change outside of sql_enter is durable too */
	if (db->depth == 0 && !db->full && !sqlite3_stmt_readonly(s->st)) {
		struct err ignored;

		if (sql_set_full(db, true, &ignored))
			it.rc = sqlite3_errcode(db->conn);
	}
	for (unsigned i = 0; it.rc == SQLITE_OK && i < q->nparams; i++)
		it.rc = bind_field(s->st, (int)i + 1,
				   &q->in->fields[q->in_map[i]], in);
	return it;
}

bool sql_next(struct sql_rows *it, void *row)
{
	const struct shape *out = it->db->set->queries[it->query].out;
	sqlite3_stmt *st = it->db->stmts[it->query].st;

	if (it->rc != SQLITE_OK && it->rc != SQLITE_ROW)
		return false;
	it->rc = sqlite3_step(st);
	if (it->rc != SQLITE_ROW)
		return false;
	for (size_t i = 0; out && i < out->nfields; i++)
		read_field(st, (int)i, &out->fields[i], row);
	return true;
}

int sql_end(struct sql_rows *it, struct err *e)
{
	struct stmt *s = &it->db->stmts[it->query];
	int bad = 0;

	if (sql_failed(it->rc))
		bad = sql_fail(it->db, it->rc,
			       it->db->set->queries[it->query].name, e);
	if (s->st)
		sqlite3_reset(s->st);
	s->busy = false;
	return bad;
}

static int exec_once(struct sql *db, unsigned query, const void *in,
		     struct err *e)
{
	struct sql_rows it = sql_rows(db, query, in);

	assert(!db->set->queries[query].out);
	sql_next(&it, NULL);
	return sql_end(&it, e) ? -1 : sqlite3_changes(db->conn);
}

/* A write outside of a transaction waits in the queue, too. */
static bool writes_alone(struct sql *db, unsigned query)
{
	struct stmt *s = sql_stmt(db, query);

	return db->depth == 0 && s->st && !sqlite3_stmt_readonly(s->st);
}

int sql_exec(struct sql *db, unsigned query, const void *in, struct err *e)
{
	if (!writes_alone(db, query))
		return exec_once(db, query, in, e);
	if (sql_enter(db, e))
		return -1;
	return sql_leave(db, exec_once(db, query, in, e), e);
}

/* Copies the borrowed texts and blobs of a row to the arena. */
static void keep_row(const struct shape *shape, void *row, struct arena *a)
{
	for (size_t i = 0; i < shape->nfields; i++) {
		const struct field *f = &shape->fields[i];
		void *at = field_out(f, row);

		if (f->type == FIELD_text || f->type == FIELD_json) {
			const char **text = at;

			assert(a || !*text);
			*text = arena_text(a, *text);
		} else if (f->type == FIELD_blob) {
			struct blob *b = at;

			assert(a || !b->p);
			if (b->p)
				b->p = arena_copy(a, b->p, b->n);
		}
	}
}

static int get_once(struct sql *db, unsigned query, const void *in, void *row,
		    struct arena *a, struct err *e)
{
	struct sql_rows it = sql_rows(db, query, in);
	bool found = sql_next(&it, row);

	if (found)
		keep_row(db->set->queries[query].out, row, a);
	return sql_end(&it, e) ? -1 : found;
}

int sql_get(struct sql *db, unsigned query, const void *in, void *row,
	    struct arena *a, struct err *e)
{
	if (!writes_alone(db, query))
		return get_once(db, query, in, row, a, e);
	if (sql_enter(db, e))
		return -1;
	return sql_leave(db, get_once(db, query, in, row, a, e), e);
}

int sql_collect(struct sql *db, unsigned query, const void *in, int max,
		void *rows_out, struct arena *a, struct err *e)
{
	const struct shape *out = db->set->queries[query].out;
	struct sql_rows it = sql_rows(db, query, in);
	char *rows = NULL;
	size_t n = 0, cap = 0;

	for (;;) {
		if (n == cap) {
			char *more;

			cap = cap ? cap * 2 : 16;
			more = arena_alloc(a, cap * out->size);
			if (rows)
				memcpy(more, rows, n * out->size);
			rows = more;
		}
		if (n == (size_t)max || !sql_next(&it, rows + n * out->size))
			break;
		keep_row(out, rows + n * out->size, a);
		n++;
	}
	*(void **)rows_out = rows;
	return sql_end(&it, e) ? -1 : (int)n;
}

int sql_check(struct sql *db, struct err *e)
{
	for (unsigned i = 0; i < db->set->count; i++) {
		struct stmt *s = sql_stmt(db, i);

		if (!s->st)
			return sql_fail(db, s->rc, db->set->queries[i].name, e);
	}
	return 0;
}
