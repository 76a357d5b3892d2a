#include "cli/list.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#include <inttypes.h>
#include <string.h>

static const struct field *first_column(const struct cli_list *l)
{
	return shape_field(l->shape, l->columns, strcspn(l->columns, " "));
}

static void print_first(struct cli_list *l, const void *row)
{
	struct buf cell = BUF_MAX(1u << 20);

	output_cell(&cell, first_column(l), row);
	output_note(&l->cli->out, "%s", cell.p);
	buf_fini(&cell);
}

static void keep_cursor(struct cli_list *l, const void *row)
{
	struct buf cell = BUF_MAX(1u << 20);

	if (l->cursor) {
		l->cursor(row, l->last);
		return;
	}
	output_cell(&cell, first_column(l), row);
	text_fit(l->last, sizeof l->last, cell.p);
	buf_fini(&cell);
}

/* --- -o ------------------------------------------------------------------ */

static const struct {
	const char *word;
	enum list_format format;
} formats[] = {
	{"wide", LIST_TABLE},  {"name", LIST_NAME}, {"json", LIST_JSON},
	{"jsonl", LIST_JSONL}, {"csv", LIST_CSV},
};

static int reject_column(struct cli_list *l, const char *name, size_t n,
			 struct err *e)
{
	struct buf all = BUF_MAX(360);

	for (size_t i = 0; i < l->shape->nfields; i++)
		buf_addf(&all, "%s%s", i ? ", " : "", l->shape->fields[i].name);
	err_set(e, ERR_USAGE,
		"-o: '%s' is not wide, name, json, jsonl, csv or a column; the "
		"columns are %s",
		quotedn(name, n).text, all.p);
	buf_fini(&all);
	return -1;
}

/* "id,state" becomes "id state". */
static int choose_columns(struct cli_list *l, const char *given, struct err *e)
{
	char *columns = arena_text(&l->cli->arena, given);

	for (char *p = columns; *p;) {
		size_t n = strcspn(p, ", ");

		if (!shape_field(l->shape, p, n))
			return reject_column(l, p, n, e);
		p += n;
		if (*p)
			*p++ = ' ';
	}
	l->columns = columns;
	return 0;
}

static int choose_format(struct cli_list *l, const char *given, struct err *e)
{
	struct cli *cli = l->cli;

	l->format = cli->out.json            ? LIST_JSONL
		    : cli_flag(cli, "quiet") ? LIST_NAME
					     : LIST_TABLE;
	if (!given)
		return 0;
	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		if (strcmp(formats[i].word, given) != 0)
			continue;
		l->format = formats[i].format;
		cli->out.exact = true;
		cli->out.json |= l->format == LIST_JSONL;
		return 0;
	}
	cli->out.exact = cli->out.exact || !cli->out.width;
	return choose_columns(l, given, e);
}

static void begin_list(struct cli_list *l)
{
	struct err e;

	if (l->format != LIST_UNKNOWN)
		return;
	if (choose_format(l, cli_option(l->cli, "as"), &e)) {
		l->format = LIST_INVALID;
		cli_fail_later(l->cli, &e);
	}
}

/* --- rows ----------------------------------------------------------------- */

static void add_csv_text(struct buf *b, const char *text)
{
	if (!text[strcspn(text, "\",\n\r")]) {
		buf_adds(b, text);
		return;
	}
	buf_addc(b, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_addc(b, '"');
		buf_addc(b, *text);
	}
	buf_addc(b, '"');
}

static void add_csv_value(struct buf *b, const struct field *f, const void *row)
{
	struct buf cell = BUF_MAX(1u << 30);
	const void *at = field_in(f, row);
	char when[CLOCK_TEXT];

	if (f->type == FIELD_text || f->type == FIELD_json)
		add_csv_text(b, *(const field_text *)at
					? *(const field_text *)at
					: "");
	else if (f->type == FIELD_i64)
		buf_addf(b, "%" PRId64, *(const field_i64 *)at);
	else if (f->type == FIELD_time && *(const field_time *)at != OPT_NONE) {
		clock_text(*(const field_time *)at, when);
		buf_adds(b, when);
	} else if (f->type == FIELD_opt && *(const field_opt *)at != OPT_NONE) {
		buf_addf(b, "%" PRId64, *(const field_opt *)at);
	} else if (f->type != FIELD_time && f->type != FIELD_opt) {
		output_cell(&cell, f, row);
		add_csv_text(b, cell.p);
	}
	buf_fini(&cell);
}

/* row NULL: the heading. */
static void print_csv(struct cli_list *l, const void *row)
{
	struct buf b = BUF_MAX(1u << 30);
	const char *at = l->columns;

	while (*at) {
		size_t n = strcspn(at, " ");
		const struct field *f = shape_field(l->shape, at, n);

		if (at != l->columns)
			buf_addc(&b, ',');
		if (row)
			add_csv_value(&b, f, row);
		else
			buf_adds(&b, f->name);
		at += n;
		at += *at == ' ';
	}
	buf_addc(&b, '\n');
	fwrite(b.p, 1, b.n, l->cli->out.to);
	buf_fini(&b);
}

static void print_array_item(struct cli_list *l, const void *row)
{
	struct buf b = BUF_MAX(1u << 30);

	buf_adds(&b, l->n == 1 ? "[\n" : ",\n");
	json_add_shape(&b, l->shape, row);
	fwrite(b.p, 1, b.n, l->cli->out.to);
	buf_fini(&b);
}

static void print_item_of(struct cli_list *l, const void *row)
{
	switch (l->format) {
	case LIST_NAME:
		print_first(l, row);
		break;
	case LIST_JSON:
		print_array_item(l, row);
		break;
	case LIST_CSV:
		if (l->n == 1)
			print_csv(l, NULL);
		print_csv(l, row);
		break;
	case LIST_TABLE:
	case LIST_JSONL:
		if (!l->table)
			l->table = table_new(&l->cli->out, l->shape,
					     l->columns);
		table_add(l->table, row);
		break;
	case LIST_UNKNOWN:
	case LIST_INVALID:
		break;
	}
}

void cli_list_add(struct cli_list *l, void *row)
{
	begin_list(l);
	if (l->prepare)
		l->prepare(l->cli, row);
	l->n++;
	if (l->limit && l->n == l->limit)
		keep_cursor(l, row);
	print_item_of(l, row);
}

void cli_list_end(struct cli_list *l)
{
	bool full;

	begin_list(l);
	full = l->limit && l->n == l->limit;
	if (l->table)
		table_end(l->table);
	if (l->format == LIST_JSON)
		fputs(l->n ? "\n]\n" : "[]\n", l->cli->out.to);
	if (l->format == LIST_TABLE && l->n == 0)
		fprintf(stderr, "%s\n", l->none);
	if (l->format == LIST_TABLE && full)
		output_note(&l->cli->out, "more: --before %s", l->last);
}

int cli_list_query(struct cli_list *l, struct sql *db, unsigned query,
		   const void *in, struct err *e)
{
	struct sql_rows it = sql_rows(db, query, in);
	void *row = arena_alloc(&l->cli->arena, l->shape->size);

	while (sql_next(&it, row))
		cli_list_add(l, row);
	if (sql_end(&it, e))
		return -1;
	cli_list_end(l);
	return 0;
}

int cli_list_control(struct cli_list *l, enum lists_kind kind,
		     const void *filter, struct err *e)
{
	void *row = arena_alloc(&l->cli->arena, l->shape->size);
	struct lists it;

	if (lists_open(&it, l->cli->control, kind, filter, e))
		return -1;
	while (lists_next(&it, row))
		cli_list_add(l, row);
	if (lists_close(&it, e))
		return -1;
	cli_list_end(l);
	return 0;
}
