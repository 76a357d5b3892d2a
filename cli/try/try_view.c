#include "cli/try/try_view.h"

#include "cli/remote.h"
#include "cli/try/try_stats.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CLEAR   "\033[H\033[J"
#define LOOK_MS 200

int try_get(struct cli *cli, const char *id, struct experiment_row *out,
	    struct err *e)
{
	struct experiment_get_in key = {id};
	struct experiment_list_in newest = {"~", 1};
	int found = id ? sql_get(cli->control, Q_EXPERIMENT_GET, &key, out,
				 &cli->arena, e)
		       : sql_get(cli->control, Q_EXPERIMENT_LIST, &newest, out,
				 &cli->arena, e);

	if (found == 0 && !id)
		return err_set(e, ERR_NOTFOUND,
			       "there are no experiments; 'skep try AGENT "
			       "PROMPT' starts one");
	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there is no experiment '%s'; 'skep try ls' "
			       "lists them",
			       quoted(id).text);
	return found < 0 ? -1 : 0;
}

int try_get_trial(struct cli *cli, const char *id, const char *word,
		  struct trial_row *out, struct err *e)
{
	struct trial_get_in key = {.experiment = id};
	int found;

	if (text_i64("TRIAL", word, 1, INT32_MAX, &key.number, e))
		return -1;
	found = sql_get(cli->control, Q_TRIAL_GET, &key, out, &cli->arena, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "experiment %s has no trial %lld", id,
			       (long long)key.number);
	return found < 0 ? -1 : 0;
}

#define TRIAL_VIEW(F, S)    \
	F(S, i64, trial)    \
	F(S, text, variant) \
	F(S, i64, seed)     \
	F(S, text, outcome) \
	F(S, text, time)    \
	F(S, opt, tokens)   \
	F(S, text, cost)    \
	F(S, opt, files)    \
	F(S, text, check) F(S, text, check_time) F(S, text, run)
SHAPE_DECLARE(trial_view, TRIAL_VIEW);
SHAPE_DEFINE(trial_view, TRIAL_VIEW);

static const char *time_text(struct cli *cli, int64_t ms)
{
	char text[TEXT_HUMAN];

	return ms == OPT_NONE
		       ? NULL
		       : arena_text(&cli->arena, text_human_millis(ms, text));
}

/* In the currency of the agent's prices. */
static const char *cost_text(struct cli *cli, int64_t micros)
{
	return micros == OPT_NONE
		       ? NULL
		       : arena_printf(&cli->arena, "%lld.%04lld",
				      (long long)micros / 1000000,
				      (long long)micros % 1000000 / 100);
}

static const char *check_text(struct cli *cli, const struct trial_row *t)
{
	if (!t->check_outcome)
		return t->check_run ? "running" : NULL;
	if (!strcmp(t->check_outcome, "succeeded"))
		return "passed";
	return t->check_exit == OPT_NONE
		       ? t->check_outcome
		       : arena_printf(&cli->arena, "exit %lld",
				      (long long)t->check_exit);
}

static struct trial_view view_of(struct cli *cli, const struct trial_row *t)
{
	bool known = t->input_tokens != OPT_NONE;

	return (struct trial_view){
		.trial = t->number,
		.variant = t->name,
		.seed = t->seed,
		.outcome = t->outcome ? t->outcome : t->state,
		.time = time_text(cli, t->duration_ms),
		.tokens = known ? t->input_tokens + t->output_tokens : OPT_NONE,
		.cost = cost_text(cli, t->cost_micros),
		.files = t->files_changed,
		.check = check_text(cli, t),
		.check_time = time_text(cli, t->check_ms),
		.run = t->run};
}

static int print_trials(struct cli *cli, const char *id, struct err *e)
{
	struct trial_list_in in = {id};
	struct try_variant *stats;
	struct trial_row *rows;
	struct table *t;
	int variants, n = sql_collect(cli->control, Q_TRIAL_LIST, &in,
				      INT32_MAX, &rows, &cli->arena, e);

	if (n < 0)
		return -1;
	t = cli->out.json
		    ? table_new(&cli->out, &trial_row_shape, "number")
		    : table_new(&cli->out, &trial_view_shape,
				"trial variant seed outcome time tokens cost "
				"files check check_time run");
	for (int i = 0; i < n; i++) {
		struct trial_view view = view_of(cli, &rows[i]);

		table_add(t, cli->out.json ? (void *)&rows[i] : (void *)&view);
	}
	table_end(t);
	variants = try_stats(cli, rows, n, &stats);
	try_stats_print(cli, stats, variants);
	return 0;
}

#define REASONS_MAX 10

/* Trials that failed for one reason share a line. */
static void print_reasons(struct cli *cli, const struct trial_row *rows, int n)
{
	int printed = 0;

	for (int i = 0; i < n && printed < REASONS_MAX; i++) {
		struct buf who = BUF_MAX(1 << 20), why = BUF_MAX(1 << 20);
		bool is_new = rows[i].detail != NULL;

		for (int k = 0; k < n && is_new; k++) {
			if (!rows[k].detail ||
			    strcmp(rows[k].detail, rows[i].detail) != 0)
				continue;
			is_new = k >= i;
			buf_addf(&who, "%s%lld", who.n ? ", " : "",
				 (long long)rows[k].number);
		}
		if (is_new) {
			output_safe(&why, rows[i].detail,
				    strlen(rows[i].detail), false);
			output_note(&cli->out, "%strial %s: %s",
				    printed++ ? "" : "\n", who.p, why.p);
		}
		buf_fini(&who);
		buf_fini(&why);
	}
}

int try_print_failures(struct cli *cli, const struct experiment_row *row,
		       struct err *e)
{
	struct trial_list_in in = {row->id};
	struct trial_row *rows;
	int n = sql_collect(cli->control, Q_TRIAL_LIST, &in, INT32_MAX, &rows,
			    &cli->arena, e);

	if (n < 0)
		return -1;
	print_reasons(cli, rows, n);
	if (row->succeeded > 0 || row->done < row->trials)
		return 0;
	return err_set(e, ERR_FAILED,
		       "no trial of %s has succeeded; 'skep logs RUN' prints "
		       "the output of a run",
		       row->id);
}

static void print_head(struct cli *cli, const struct experiment_row *x)
{
	struct output *o = &cli->out;

	if (o->json) {
		output_object(o, &experiment_row_shape, x);
		return;
	}
	output_note(o, "%s: %s, %lld of %lld trials done, from %s:%s@%s", x->id,
		    x->state, (long long)x->done, (long long)x->trials,
		    x->agent, x->source, x->snapshot);
	if (x->check_command)
		output_note(o, "check: %s", cli_trimmed(cli, x->check_command));
	if (x->picked != OPT_NONE)
		output_note(o, "picked: trial %lld", (long long)x->picked);
	if (x->detail)
		output_note(o, "reason: %s", x->detail);
	output_note(o, " ");
}

int try_print(struct cli *cli, const struct experiment_row *row, struct err *e)
{
	print_head(cli, row);
	return print_trials(cli, row->id, e);
}

int try_wait(struct cli *cli, const char *id, const char *states, bool live,
	     struct experiment_row *out, struct err *e)
{
	bool draw = live && !cli->out.json && isatty(cli->out.fd);
	struct err left;

	for (;;) {
		if (try_get(cli, id, out, e))
			return -1;
		if (text_check_word("state", states, out->state, &left))
			return 0;
		if (draw) {
			fputs(CLEAR, cli->out.to);
			if (try_print(cli, out, e) || output_end(&cli->out, e))
				return -1;
		}
		if (ferror(cli->out.to))
			return 0;
		poll(NULL, 0, LOOK_MS);
	}
}

int try_post(struct cli *cli, const char *id, const char *verb,
	     const char *body, struct err *e)
{
	const char *path;
	cJSON *json;

	if (!id_is(ID_EXPERIMENT, id))
		return err_set(e, ERR_USAGE,
			       "'%s' is not the id of an experiment (exp_...)",
			       quoted(id).text);
	path = arena_printf(&cli->arena, "/v1/experiments/%s/%s", id, verb);
	json = remote_call(cli, "POST", path, body, e);
	cJSON_Delete(json);
	return json ? 0 : -1;
}

int try_failed(const struct experiment_row *row, struct err *e)
{
	return err_set(e, ERR_FAILED, "experiment %s failed: %s", row->id,
		       row->detail ? row->detail : "unknown reason");
}
