#include "cli/output.h"

#include "lib/base/arena.h"
#include "lib/json/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 24
#define SETTLE_ROWS 256 /* rows that determine the widths */
#define CELL_MAX    (1u << 20)
#define NARROWEST   8
#define NAME_LEAST  32 /* an id fits */

struct table {
	struct output *o;
	const struct shape *shape;
	const struct field *fields[COLUMNS_MAX];
	int ncolumns;
	int width[COLUMNS_MAX];
	char **cells[SETTLE_ROWS];
	int nrows; /* buffered until the widths are known */
	bool settled;
	struct arena arena;
	struct buf line;
};

static void choose_columns(struct table *t, const char *columns)
{
	while (*columns) {
		size_t n = strcspn(columns, " ");
		const struct field *f = shape_field(t->shape, columns, n);

		assert(f && "a column that the shape has");
		assert(t->ncolumns < COLUMNS_MAX);
		t->width[t->ncolumns] = (int)n;
		t->fields[t->ncolumns++] = f;
		columns += n;
		columns += *columns == ' ';
	}
}

struct table *table_new(struct output *o, const struct shape *shape,
			const char *columns)
{
	struct table *t = calloc(1, sizeof *t);

	if (!t)
		abort();
	t->o = o;
	t->shape = shape;
	buf_init(&t->line, CELL_MAX);
	choose_columns(t, columns);
	return t;
}

static bool is_number(const struct field *f)
{
	return f->type == FIELD_i64 || f->type == FIELD_opt ||
	       f->type == FIELD_f64 || f->type == FIELD_blob;
}

/* The first bytes of text that fit in `width` columns, with … for the rest. */
static void add_cut(struct buf *b, const char *text, int width)
{
	size_t n = strlen(text), fit = 0;

	if (output_columns(text, n) <= width) {
		buf_adds(b, text);
		return;
	}
	while (fit < n) {
		size_t next = fit + 1;

		while (next < n && ((unsigned char)text[next] & 0xc0) == 0x80)
			next++;
		if (output_columns(text, next) > width - 1)
			break;
		fit = next;
	}
	buf_add(b, text, fit);
	buf_adds(b, "…");
}

static void add_cell(struct table *t, int i, const char *text)
{
	struct buf *b = &t->line;
	size_t from = b->n;
	int pad;

	add_cut(b, text, t->o->width ? t->width[i] : (int)CELL_MAX);
	pad = t->width[i] - output_columns(b->p + from, b->n - from);
	if (is_number(t->fields[i])) {
		char *cell = strdup(b->p + from);

		if (!cell)
			abort();
		b->n = from;
		buf_addf(b, "%*s%s", pad > 0 ? pad : 0, "", cell);
		free(cell);
	} else if (i + 1 < t->ncolumns) {
		buf_addf(b, "%*s", pad > 0 ? pad : 0, "");
	}
}

static void print_row(struct table *t, char **cells)
{
	buf_clear(&t->line);
	for (int i = 0; i < t->ncolumns; i++) {
		if (i > 0)
			buf_adds(&t->line, "  ");
		add_cell(t, i, cells[i]);
	}
	buf_addc(&t->line, '\n');
	fwrite(t->line.p, 1, t->line.n, t->o->to);
}

static void print_head(struct table *t)
{
	char *names[COLUMNS_MAX];

	for (int i = 0; i < t->ncolumns; i++) {
		names[i] = arena_text(&t->arena, t->fields[i]->name);
		for (char *p = names[i]; *p; p++)
			*p = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A')
			     : *p == '_'            ? ' '
						    : *p;
	}
	fputs(output_style(t->o, STYLE_HEAD), t->o->to);
	print_row(t, names);
	fputs(output_style(t->o, STYLE_PLAIN), t->o->to);
}

/* The width that can be taken from a column. The first one identifies the row,
 * and a truncated id cannot be used in a command. */
static int spare_of(const struct table *t, int i)
{
	return t->width[i] - (i == 0 ? NAME_LEAST : NARROWEST);
}

/* Takes columns from the widest until the line fits the terminal. */
static void fit_widths(struct table *t)
{
	int total = 2 * (t->ncolumns - 1);

	for (int i = 0; i < t->ncolumns; i++)
		total += t->width[i];
	while (t->o->width && total > t->o->width) {
		int widest = 0;

		for (int i = 1; i < t->ncolumns; i++)
			if (spare_of(t, i) > spare_of(t, widest))
				widest = i;
		if (spare_of(t, widest) <= 0)
			break;
		t->width[widest]--;
		total--;
	}
}

static void print_kept_rows(struct table *t)
{
	if (t->settled)
		return;
	t->settled = true;
	for (int r = 0; r < t->nrows; r++)
		for (int i = 0; i < t->ncolumns; i++) {
			const char *c = t->cells[r][i];
			int w = output_columns(c, strlen(c));

			if (w > t->width[i])
				t->width[i] = w;
		}
	fit_widths(t);
	print_head(t);
	for (int r = 0; r < t->nrows; r++)
		print_row(t, t->cells[r]);
	arena_reset(&t->arena);
}

static void print_json_row(struct table *t, const void *row)
{
	struct buf b = BUF_MAX(1u << 30);

	json_add_shape(&b, t->shape, row);
	buf_addc(&b, '\n');
	fwrite(b.p, 1, b.n, t->o->to);
	buf_fini(&b);
}

void table_add(struct table *t, const void *row)
{
	char **cells;

	if (t->o->json) {
		print_json_row(t, row);
		return;
	}
	cells = arena_alloc(&t->arena, (size_t)t->ncolumns * sizeof *cells);
	for (int i = 0; i < t->ncolumns; i++) {
		buf_clear(&t->line);
		output_cell(&t->line, t->fields[i], row);
		cells[i] = arena_text(&t->arena, t->line.p);
	}
	if (t->settled) {
		print_row(t, cells);
		arena_reset(&t->arena);
		return;
	}
	t->cells[t->nrows++] = cells;
	if (t->nrows == SETTLE_ROWS)
		print_kept_rows(t);
}

void table_end(struct table *t)
{
	if (!t->o->json && (t->nrows > 0 || t->o->width))
		print_kept_rows(t);
	arena_fini(&t->arena);
	buf_fini(&t->line);
	free(t);
}
