#include "cli/run/run_select.h"
#include "cli/run/run_view.h"
#include "lib/json/json.h"
#include "schema/control/channel/run_deliveries.h"

#include <string.h>

#define PROMPT_SHOWN 2000 /* bytes */

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

/* Prints the deliveries of the run for users. */
static void print_deliveries(struct cli *cli, const char *run, const char *list)
{
	struct err e = {0};
	cJSON *items = json_parse("deliveries", list, strlen(list), &e);
	const cJSON *d;

	cJSON_ArrayForEach(d, items) output_note(
		&cli->out, "delivery %s on %s: %s", json_text(d, "id", ""),
		json_text(d, "channel", ""), json_text(d, "state", ""));
	if (cJSON_GetArraySize(items) == RUN_DELIVERIES)
		output_note(&cli->out,
			    "'skep delivery ls --run %s' lists all "
			    "deliveries",
			    run);
	cJSON_Delete(items);
}

/* The run is shown even without its agent file, which may be the problem. */
static const char *read_deliveries(struct cli *cli, struct run_row *row)
{
	const char *sent;
	struct err e = {0};

	if (run_deliveries_of(cli->control, row, &sent, &cli->arena, &e) == 0)
		return sent;
	row->deliveries_error = run_deliveries_note(&e, &cli->arena);
	return NULL;
}

#define RUN_PROMPT(F, S) F(S, text, prompt)
SHAPE_DECLARE(run_prompt, RUN_PROMPT);
SHAPE_DEFINE(run_prompt, RUN_PROMPT);

/* The input may have been pruned. */
static int print_prompt(struct cli *cli, const char *run, struct err *e)
{
	struct run_input_get_in key = {run};
	struct run_input_get_row input;
	int found = sql_get(cli->control, Q_RUN_INPUT_GET, &key, &input,
			    &cli->arena, e);
	size_t n;

	if (found <= 0)
		return found;
	if (cli->out.json) {
		output_object(&cli->out, &run_prompt_shape,
			      &(struct run_prompt){input.prompt});
		return 0;
	}
	n = strnlen(input.prompt, PROMPT_SHOWN);
	while (n > 0 && ((unsigned char)input.prompt[n] & 0xc0) == 0x80)
		n--; /* a whole character */
	output_note(&cli->out, " ");
	output_note(&cli->out, "prompt:");
	output_text(&cli->out, input.prompt, n);
	output_note(&cli->out, "%s", input.prompt[n] ? "…" : "");
	return 0;
}

static int show_run(struct cli *cli, const char *id, struct err *e)
{
	struct run_transition_list_in transitions = {id};
	struct command_list_in commands_of = {id};
	struct run_row row;
	const char *sent;

	if (run_view_get(cli, id, &row, e))
		return -1;
	sent = read_deliveries(cli, &row);
	if (cli->out.json)
		row.deliveries = sent;
	output_object(&cli->out, &run_row_shape, &row);
	if (print_prompt(cli, row.id, e))
		return -1;
	output_note(&cli->out, " ");
	if (print_rows(cli, Q_RUN_TRANSITION_LIST, &transitions,
		       &run_transition_row_shape,
		       "at attempt from_state to_state reason detail", e))
		return -1;
	if (print_rows(cli, Q_COMMAND_LIST, &commands_of, &command_row_shape,
		       "id verb state by created_at done_at refusal", e))
		return -1;
	if (sent)
		print_deliveries(cli, row.id, sent);
	return 0;
}

static int show_runs(struct cli *cli, struct err *e)
{
	struct run_ids runs;

	if (run_select(cli, cli->args.nwords, NULL, &runs, e))
		return -1;
	return run_each(cli, &runs, show_run, e);
}

const struct command cmd_show = {
	.name = "show",
	.args = "[RUN...]",
	.help = "show runs, their prompt, state transitions, commands and "
		"deliveries",
	.about = "With --json, the run with its newest 20 deliveries comes "
		 "first, followed by its prompt, its transitions and its "
		 "commands, one object per line. Without --json, a long prompt "
		 "is cut.",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(RUN_SELECT_OPTIONS),
	.run = show_runs,
};
