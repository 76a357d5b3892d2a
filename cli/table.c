#include "cli/output.h"

#include "lib/base/arena.h"
#include "lib/json/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 64
#define SETTLE_ROWS 256 /* rows that determine the widths */
#define CELL_MAX    (1u << 20)
#define NARROWEST   8
#define NAME_LEAST  32 /* a name or a complete id fits */
#define GAP         2  /* blanks between columns */

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

static bool for_people(const struct table *t)
{
	return t->o->width && !t->o->exact;
}

/* The length of the heading: an age has no "AT". */
static size_t head_length(const struct table *t, const struct field *f)
{
	size_t n = strlen(f->name);

	return for_people(t) && f->type == FIELD_time && n > 3 &&
			       !strcmp(f->name + n - 3, "_at")
		       ? n - 3
		       : n;
}

static void choose_columns(struct table *t, const char *columns)
{
	while (*columns) {
		size_t n = strcspn(columns, " ");
		const struct field *f = shape_field(t->shape, columns, n);

		assert(f && "a column that the shape has");
		assert(t->ncolumns < COLUMNS_MAX);
		t->width[t->ncolumns] = (int)head_length(t, f);
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

static bool is_state(const struct field *f)
{
	return !strcmp(f->name, "state") || !strcmp(f->name, "severity");
}

/* The style of a cell. A state is "● running" here. */
static enum output_style cell_style(const struct table *t, int i,
				    const char *text)
{
	const char *word = strchr(text, ' ');

	if (!is_state(t->fields[i]) || !t->o->colour)
		return STYLE_PLAIN;
	return (enum output_style)output_state(word ? word + 1 : text).style;
}

static void add_cell(struct table *t, int i, const char *text, bool styled)
{
	enum output_style style = styled ? cell_style(t, i, text) : STYLE_PLAIN;
	struct buf *b = &t->line, cell = BUF_MAX(CELL_MAX);
	int pad;

	output_cut(&cell, text, for_people(t) ? t->width[i] : (int)CELL_MAX);
	pad = t->width[i] - output_columns(cell.p, cell.n);
	pad = pad > 0 ? pad : 0;
	if (is_number(t->fields[i]))
		buf_addf(b, "%*s", pad, "");
	if (style != STYLE_PLAIN)
		buf_adds(b, output_style(t->o, style));
	buf_add(b, cell.p, cell.n);
	if (style != STYLE_PLAIN)
		buf_adds(b, output_style(t->o, STYLE_PLAIN));
	if (!is_number(t->fields[i]) && i + 1 < t->ncolumns)
		buf_addf(b, "%*s", pad, "");
	buf_fini(&cell);
}

static void print_row(struct table *t, char **cells, bool styled)
{
	buf_clear(&t->line);
	for (int i = 0; i < t->ncolumns; i++) {
		if (i > 0)
			buf_addf(&t->line, "%*s", GAP, "");
		add_cell(t, i, cells[i], styled);
	}
	buf_addc(&t->line, '\n');
	fwrite(t->line.p, 1, t->line.n, t->o->to);
}

static void print_head(struct table *t)
{
	char *names[COLUMNS_MAX];

	for (int i = 0; i < t->ncolumns; i++) {
		names[i] = arena_textn(&t->arena, t->fields[i]->name,
				       head_length(t, t->fields[i]));
		for (char *p = names[i]; *p; p++)
			*p = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A')
			     : *p == '_'            ? ' '
						    : *p;
	}
	fputs(output_style(t->o, STYLE_HEAD), t->o->to);
	print_row(t, names, false);
	fputs(output_style(t->o, STYLE_PLAIN), t->o->to);
}

static int total_width(const struct table *t)
{
	int total = GAP * (t->ncolumns - 1);

	for (int i = 0; i < t->ncolumns; i++)
		total += t->width[i];
	return total;
}

/* The width that can be taken from a column. The first one identifies the row,
 * and a truncated name cannot be used in a command. States and ages are short,
 * and of no use if they are cut. */
static int spare_of(const struct table *t, int i)
{
	const struct field *f = t->fields[i];

	if (is_state(f) || f->type == FIELD_time)
		return 0;
	return t->width[i] - (i == 0 ? NAME_LEAST : NARROWEST);
}

/* Columns that cannot be narrower than this. */
static int least_width(const struct table *t)
{
	int total = total_width(t);

	for (int i = 0; i < t->ncolumns; i++)
		total -= spare_of(t, i) > 0 ? spare_of(t, i) : 0;
	return total;
}

/* Leaves out the last columns that have no room, then takes columns from the
 * widest until the line fits the terminal. */
static void fit_widths(struct table *t)
{
	int total;

	if (!for_people(t))
		return;
	while (t->ncolumns > 1 && least_width(t) > t->o->width)
		t->ncolumns--;
	for (total = total_width(t); total > t->o->width; total--) {
		int widest = 0;

		for (int i = 1; i < t->ncolumns; i++)
			if (spare_of(t, i) > spare_of(t, widest))
				widest = i;
		if (spare_of(t, widest) <= 0)
			break;
		t->width[widest]--;
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
	if (t->nrows + 1 >= t->o->height)
		output_page_begin(t->o);
	print_head(t);
	for (int r = 0; r < t->nrows; r++)
		print_row(t, t->cells[r], true);
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

static char *make_cell(struct table *t, int i, const void *row)
{
	struct output_state state;

	buf_clear(&t->line);
	if (!for_people(t)) {
		output_cell(&t->line, t->fields[i], row);
		return arena_text(&t->arena, t->line.p);
	}
	output_short_cell(&t->line, t->fields[i], row);
	if (!is_state(t->fields[i]))
		return arena_text(&t->arena, t->line.p);
	state = output_state(t->line.p);
	return arena_printf(&t->arena, "%s%s%s", state.glyph,
			    *state.glyph ? " " : "", t->line.p);
}

void table_add(struct table *t, const void *row)
{
	char **cells;

	if (t->o->json) {
		print_json_row(t, row);
		return;
	}
	cells = arena_alloc(&t->arena, (size_t)t->ncolumns * sizeof *cells);
	for (int i = 0; i < t->ncolumns; i++)
		cells[i] = make_cell(t, i, row);
	if (t->settled) {
		print_row(t, cells, true);
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
