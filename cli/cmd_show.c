#include "base/json.h"
#include "cli/run_view.h"

#include <string.h>

static int print_rows(struct cli *cli, unsigned query, const void *in,
		      const struct shape *shape, const char *columns,
		      struct err *e)
{
	struct sql_rows it = sql_rows(cli->control, query, in);
	struct table *t = table_new(&cli->out, shape, columns);
	void *row = arena_alloc(&cli->arena, shape->size);

	while (sql_next(&it, row))
		table_add(t, row);
	table_end(t);
	return sql_end(&it, e);
}

static int show_run(struct cli *cli, struct err *e)
{
	struct run_transition_list_in moves = {cli_arg(cli, 0)};
	struct command_list_in commands_of = {cli_arg(cli, 0)};
	struct run_row row;

	if (run_view_get(cli, cli_arg(cli, 0), &row, e))
		return -1;
	output_object(&cli->out, &run_row_shape, &row);
	output_note(&cli->out, " ");
	if (print_rows(cli, Q_RUN_TRANSITION_LIST, &moves,
		       &run_transition_row_shape,
		       "at attempt from_state to_state reason detail", e))
		return -1;
	return print_rows(cli, Q_COMMAND_LIST, &commands_of, &command_row_shape,
			  "id verb state by created_at done_at refusal", e);
}

const struct command cmd_show = {
	.name = "show",
	.args = "RUN",
	.help = "show a run, every move that it made and what it was told",
	.about = "With --json: the run, then its transitions and its commands, "
		 "an object a line.",
	.needs = NEEDS_CONTROL_READ,
	.run = show_run,
};
