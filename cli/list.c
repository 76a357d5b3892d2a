#include "cli/list.h"

#include "lib/base/text.h"

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

void cli_list_add(struct cli_list *l, void *row)
{
	if (l->prepare)
		l->prepare(l->cli, row);
	l->n++;
	if (l->limit && l->n == l->limit)
		keep_cursor(l, row);
	if (cli_flag(l->cli, "quiet") && !l->cli->out.json) {
		print_first(l, row);
		return;
	}
	if (!l->table)
		l->table = table_new(&l->cli->out, l->shape, l->columns);
	table_add(l->table, row);
}

void cli_list_end(struct cli_list *l)
{
	const struct cli *cli = l->cli;
	bool for_people = !cli->out.json && !cli_flag(cli, "quiet");

	if (l->table)
		table_end(l->table);
	if (for_people && l->n == 0)
		fprintf(stderr, "%s\n", l->none);
	if (for_people && l->limit && l->n == l->limit)
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
