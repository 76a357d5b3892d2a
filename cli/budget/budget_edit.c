#include "cli/budget/budget_edit.h"

#include "cli/remote.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/budget.h"
#include "schema/control/control.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AMOUNT_MAX  INT64_C(9007199254740991)
#define DOLLARS_MAX 1e9
#define MICROS      1e6

static const struct {
	const char *option, *unit;
} limits[] = {
	{"tokens", "tokens"},
	{"money", "money"},
	{"runs", "runs"},
	{"time", "seconds"},
};

static int read_dollars(const char *what, const char *text, int64_t *out,
			struct err *e)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= 0) || v > DOLLARS_MAX)
		return err_set(e, ERR_USAGE,
			       "%s must be a number of dollars, such as 2.50",
			       what);
	*out = llround(v * MICROS);
	return 0;
}

static int read_amount(const char *what, const char *unit, const char *text,
		       int64_t *out, struct err *e)
{
	if (strcmp(unit, "money") == 0)
		return read_dollars(what, text, out, e);
	if (strcmp(unit, "seconds") == 0)
		return text_millis(what, text, out, e);
	return text_i64(what, text, 0, AMOUNT_MAX, out, e);
}

static int read_hard(struct cli *cli, struct budget_row *row, struct err *e)
{
	bool given = false;

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		const char *text = cli_option(cli, limits[i].option);

		if (!text)
			continue;
		if (given)
			return err_set(e, ERR_USAGE,
				       "a budget has one hard limit: --tokens, "
				       "--money, --runs or --time");
		given = true;
		if (row->unit && strcmp(row->unit, limits[i].unit) != 0)
			row->soft = OPT_NONE; /* of another unit */
		row->unit = limits[i].unit;
		if (read_amount(limits[i].option, row->unit, text, &row->hard,
				e))
			return -1;
	}
	if (!row->unit)
		return err_set(e, ERR_USAGE,
			       "a budget needs a hard limit: --tokens, "
			       "--money, --runs or --time");
	return 0;
}

static void set_text(struct cli *cli, const char *option, const char **to)
{
	const char *text = cli_option(cli, option);

	if (text)
		*to = text;
}

int budget_read_options(struct cli *cli, struct budget_row *row, struct err *e)
{
	const char *soft = cli_option(cli, "soft");

	if (read_hard(cli, row, e))
		return -1;
	set_text(cli, "per", &row->per);
	set_text(cli, "period", &row->period);
	set_text(cli, "then", &row->at_hard);
	set_text(cli, "agent", &row->agent);
	set_text(cli, "session", &row->session);
	set_text(cli, "channel", &row->channel);
	if (soft && strcmp(soft, "none") == 0)
		row->soft = OPT_NONE;
	else if (soft)
		return read_amount("soft", row->unit, soft, &row->soft, e);
	return 0;
}

static int store_row(struct cli *cli, void *arg, struct err *e)
{
	struct budget_row *row = arg;
	int made = budget_store(cli->control, row, clock_now(), e);

	return made < 0 ? -1
			: control_audit(cli->control, NULL,
					made ? "budget.add" : "budget.set",
					row->name, NULL, e);
}

int budget_send(struct cli *cli, struct budget_row *row, const char *done,
		struct err *e)
{
	struct cli_act act = {
		.method = "PUT",
		.path = arena_printf(&cli->arena, "/v1/budgets/%s", row->name),
		.direct = store_row,
		.arg = row};
	struct buf body = BUF_MAX(65536);
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "per", row->per);
	json_put_text(&body, "unit", row->unit);
	json_put_text(&body, "period", row->period);
	json_put_int(&body, "soft", row->soft == OPT_NONE ? -1 : row->soft);
	json_put_int(&body, "hard", row->hard);
	json_put_text(&body, "at_hard", row->at_hard);
	json_put_text(&body, "agent", row->agent);
	json_put_text(&body, "session", row->session);
	json_put_text(&body, "channel", row->channel);
	json_end_object(&body);
	act.body = body.p;
	rc = buf_ok(&body, "the budget", e);
	if (rc == 0)
		rc = cli_act(cli, &act, e);
	buf_fini(&body);
	if (rc || budget_find(cli, row->name, row, e))
		return -1;
	output_result(&cli->out, &budget_row_shape, row, "%s budget %s", done,
		      row->name);
	return 0;
}

int budget_find(struct cli *cli, const char *name, struct budget_row *row,
		struct err *e)
{
	struct budget_get_in key = {name};
	int found = sql_get(cli->control, Q_BUDGET_GET, &key, row, &cli->arena,
			    e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there is no budget '%s'; 'skep budget ls' "
			       "lists them",
			       quoted(name).text);
	return found < 0 ? -1 : 0;
}
