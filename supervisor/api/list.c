#include "supervisor/api/list.h"

#include "lib/json/json.h"
#include "schema/control_queries.h"

#include <assert.h>
#include <string.h>

/* The values as a query's parameters have them: texts without quotes. Several
 * are joined by dots. */
static void write_cursor(struct buf *b, const struct shape *s,
			 const char *names, const void *row)
{
	buf_clear(b);
	for (; *names; names += *names == ' ') {
		size_t n = strcspn(names, " ");
		const struct field *f = shape_field(s, names, n);

		assert(f);
		if (b->n)
			buf_addc(b, '.');
		if (f->type == FIELD_text)
			buf_adds(b, *(const char *const *)field_in(f, row));
		else
			json_add_field(b, f, row);
		names += n;
	}
}

int api_page(struct api_request *q, unsigned query, const void *in,
	     const char *cursor, struct buf *out, struct err *e)
{
	const struct shape *shape = control_schema.queries->queries[query].out;
	struct sql_rows it = sql_rows(q->db, query, in);
	void *row = arena_alloc(&q->arena, shape->size);
	struct buf last = BUF_MAX(1024);
	int64_t n = 0;

	list_begin(out);
	for (; sql_next(&it, row); n++) {
		list_item(out, shape, row);
		if (cursor)
			write_cursor(&last, shape, cursor, row);
	}
	list_end(out, cursor && n == q->limit ? last.p : NULL);
	buf_fini(&last);
	return sql_end(&it, e);
}

int api_lists(struct api_request *q, const struct api_lists *l,
	      const void *filter, struct buf *out, struct err *e)
{
	void *row = arena_alloc(&q->arena, l->shape->size);
	struct buf last = BUF_MAX(1024);
	struct lists it;
	int64_t n = 0;

	if (lists_open(&it, q->db, l->kind, filter, e))
		return -1;
	list_begin(out);
	for (; lists_next(&it, row); n++) {
		if (l->each)
			l->each(q, row);
		list_item(out, l->shape, row);
		write_cursor(&last, l->shape, l->cursor, row);
	}
	list_end(out, n == q->limit ? last.p : NULL);
	buf_fini(&last);
	return lists_close(&it, e);
}

int api_list(struct api_request *q, unsigned query, const void *in,
	     struct buf *out, struct err *e)
{
	return api_page(q, query, in, NULL, out, e);
}
