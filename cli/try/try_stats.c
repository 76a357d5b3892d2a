#include "cli/try/try_stats.h"

#include <stdio.h>
#include <string.h>

#define PAIRS_MAX 45 /* of ten variants */

const char *const try_metric_names[TRY_METRICS] = {"time", "tokens", "cost",
						   "files", "passed"};
const char *const try_metric_units[TRY_METRICS] = {"s", "", "", "", ""};

static struct try_variant *find_variant(struct try_variant *v, int *n,
					const struct trial_row *t)
{
	for (int i = 0; i < *n; i++)
		if (v[i].number == t->variant)
			return &v[i];
	v[*n].number = t->variant;
	v[*n].name = t->name;
	return &v[(*n)++];
}

static void add_value(struct try_variant *v, enum try_metric m, int64_t value,
		      double unit)
{
	if (value != OPT_NONE)
		samples_add(&v->samples[m], (double)value / unit);
}

static void add_trial(struct try_variant *v, const struct trial_row *t)
{
	bool passed = t->check_outcome &&
		      !strcmp(t->check_outcome, "succeeded");

	v->trials++;
	if (t->check_outcome) {
		v->checked++;
		v->passed += passed;
		samples_add(&v->samples[TRY_CHECK], passed ? 1 : 0);
	}
	if (!t->outcome || strcmp(t->outcome, "succeeded") != 0)
		return;
	v->succeeded++;
	add_value(v, TRY_TIME, t->duration_ms, 1e3);
	add_value(v, TRY_TOKENS,
		  t->input_tokens == OPT_NONE
			  ? OPT_NONE
			  : t->input_tokens + t->output_tokens,
		  1);
	add_value(v, TRY_COST, t->cost_micros, 1e6);
	add_value(v, TRY_FILES, t->files_changed, 1);
}

int try_stats(struct cli *cli, const struct trial_row *trials, int n,
	      struct try_variant **out)
{
	int found = 0;

	*out = arena_alloc(&cli->arena, ((size_t)n + 1) * sizeof **out);
	for (int i = 0; i < n; i++)
		add_trial(find_variant(*out, &found, &trials[i]), &trials[i]);
	return found;
}

#define VARIANT_VIEW(F, S)   \
	F(S, text, variant)  \
	F(S, i64, trials)    \
	F(S, i64, succeeded) \
	F(S, text, passed)   \
	F(S, text, time)     \
	F(S, text, tokens)   \
	F(S, text, cost) F(S, text, files)
SHAPE_DECLARE(variant_view, VARIANT_VIEW);
SHAPE_DEFINE(variant_view, VARIANT_VIEW);

/* "median ± spread" */
static const char *median_text(struct cli *cli, const struct samples *s,
			       const char *unit)
{
	return s->n == 0 ? NULL
			 : arena_printf(&cli->arena, "%.4g ± %.2g%s%s",
					samples_median(s), samples_spread(s),
					*unit ? " " : "", unit);
}

static void print_variants(struct cli *cli, const struct try_variant *v, int n)
{
	struct table *t = table_new(&cli->out, &variant_view_shape,
				    "variant trials succeeded passed time "
				    "tokens cost files");

	for (int i = 0; i < n; i++) {
		struct variant_view row = {
			.variant = v[i].name,
			.trials = v[i].trials,
			.succeeded = v[i].succeeded,
			.passed = v[i].checked
					  ? arena_printf(
						    &cli->arena, "%lld of %lld",
						    (long long)v[i].passed,
						    (long long)v[i].checked)
					  : NULL,
			.time = median_text(cli, &v[i].samples[TRY_TIME], "s"),
			.tokens = median_text(cli, &v[i].samples[TRY_TOKENS],
					      ""),
			.cost = median_text(cli, &v[i].samples[TRY_COST], ""),
			.files = median_text(cli, &v[i].samples[TRY_FILES],
					     "")};

		table_add(t, &row);
	}
	table_end(t);
}

#define PAIR_VIEW(F, S)     \
	F(S, text, variant) \
	F(S, text, other)   \
	F(S, text, time)    \
	F(S, text, tokens) F(S, text, cost) F(S, text, files) F(S, text, passed)
SHAPE_DECLARE(pair_view, PAIR_VIEW);
SHAPE_DEFINE(pair_view, PAIR_VIEW);

static const char *p_text(struct cli *cli, const struct try_variant *a,
			  const struct try_variant *b, enum try_metric m)
{
	const struct samples *x = &a->samples[m], *y = &b->samples[m];

	return x->n == 0 || y->n == 0 ? NULL
				      : arena_printf(&cli->arena, "%.3f",
						     samples_p_same(x, y));
}

static void print_pairs(struct cli *cli, const struct try_variant *v, int n)
{
	struct table *t;

	output_note(&cli->out, " ");
	output_note(&cli->out, "p-values of the differences between variants "
			       "(permutation test):");
	t = table_new(&cli->out, &pair_view_shape,
		      "variant other time tokens cost files passed");
	for (int i = 0; i < n; i++)
		for (int k = i + 1; k < n; k++) {
			const struct try_variant *a = &v[i], *b = &v[k];
			struct pair_view row = {a->name,
						b->name,
						p_text(cli, a, b, TRY_TIME),
						p_text(cli, a, b, TRY_TOKENS),
						p_text(cli, a, b, TRY_COST),
						p_text(cli, a, b, TRY_FILES),
						p_text(cli, a, b, TRY_CHECK)};

			table_add(t, &row);
		}
	table_end(t);
}

void try_stats_print(struct cli *cli, const struct try_variant *v, int n)
{
	if (cli->out.json || n == 0 || (n == 1 && v->trials < 2))
		return;
	output_note(&cli->out, " ");
	print_variants(cli, v, n);
	if (n > 1 && n * (n - 1) / 2 <= PAIRS_MAX)
		print_pairs(cli, v, n);
}
