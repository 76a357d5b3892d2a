#include "supervisor/web_list.h"

#include "base/json.h"
#include "schema/control_queries.h"

#include <assert.h>
#include <string.h>

static const struct field *find_field(const struct shape *s, const char *name)
{
	for (size_t i = 0; i < s->nfields; i++)
		if (!strcmp(s->fields[i].name, name))
			return &s->fields[i];
	return NULL;
}

/* The value as a query's parameter has it: a text without quotes. */
static void keep_cursor(struct buf *b, const struct field *f, const void *row)
{
	buf_clear(b);
	if (f->type == FIELD_text)
		buf_adds(b, *(const char *const *)field_in(f, row));
	else
		json_add_field(b, f, row);
}

int web_page(struct ask *q, unsigned query, const void *in, const char *cursor,
	     struct buf *out, struct err *e)
{
	const struct shape *shape = control_schema.queries->queries[query].out;
	const struct field *f = cursor ? find_field(shape, cursor) : NULL;
	struct sql_rows it = sql_rows(sup_db(q->web->sup), query, in);
	void *row = arena_alloc(&q->arena, shape->size);
	struct buf last = BUF_MAX(1024);
	int64_t n = 0;

	assert(!cursor || f);
	list_begin(out);
	for (; sql_next(&it, row); n++) {
		list_item(out, shape, row);
		if (f)
			keep_cursor(&last, f, row);
	}
	list_end(out, f && n == q->limit ? last.p : NULL);
	buf_fini(&last);
	return sql_end(&it, e);
}

int web_list(struct ask *q, unsigned query, const void *in, struct buf *out,
	     struct err *e)
{
	return web_page(q, query, in, NULL, out, e);
}
