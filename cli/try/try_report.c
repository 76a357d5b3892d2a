#include "cli/try/try_report.h"

#include "cli/try/try_view.h"
#include "lib/json/json.h"

int try_report_read(struct cli *cli, const char *id, struct try_report *out,
		    struct err *e)
{
	struct variant_list_in of = {NULL};
	struct trial_list_in in = {NULL};

	*out = (struct try_report){0};
	if (try_get(cli, id, &out->row, e))
		return -1;
	of.experiment = in.experiment = out->row.id;
	out->nvariants = sql_collect(cli->control, Q_VARIANT_LIST, &of,
				     INT32_MAX, &out->variants, &cli->arena, e);
	out->ntrials = out->nvariants < 0
			       ? -1
			       : sql_collect(cli->control, Q_TRIAL_LIST, &in,
					     INT32_MAX, &out->trials,
					     &cli->arena, e);
	if (out->ntrials < 0)
		return -1;
	out->nstats = try_stats(cli, out->trials, out->ntrials, &out->stats);
	return 0;
}

static void put_real(struct buf *b, const char *name, double value)
{
	json_key(b, name);
	json_add_real(b, value);
}

static void write_stats(const struct try_variant *v, struct buf *out)
{
	json_begin_object(out);
	json_put_text(out, "variant", v->name);
	json_put_int(out, "trials", v->trials);
	json_put_int(out, "succeeded", v->succeeded);
	json_put_int(out, "checked", v->checked);
	json_put_int(out, "passed", v->passed);
	for (int m = 0; m < TRY_CHECK; m++) {
		const struct samples *s = &v->samples[m];

		json_put_object(out, try_metric_names[m]);
		json_put_int(out, "n", (int64_t)s->n);
		put_real(out, "median", samples_median(s));
		put_real(out, "spread", samples_spread(s));
		json_end_object(out);
	}
	json_end_object(out);
}

static void write_pair(const struct try_variant *a, const struct try_variant *b,
		       struct buf *out)
{
	json_begin_object(out);
	json_put_text(out, "variant", a->name);
	json_put_text(out, "other", b->name);
	for (int m = 0; m < TRY_METRICS; m++)
		if (a->samples[m].n && b->samples[m].n)
			put_real(
				out, try_metric_names[m],
				samples_p_same(&a->samples[m], &b->samples[m]));
	json_end_object(out);
}

int try_report_json(const struct try_report *r, struct buf *out, struct err *e)
{
	json_begin_object(out);
	json_key(out, "experiment");
	json_add_shape(out, &experiment_row_shape, &r->row);
	json_put_array(out, "variants");
	for (int i = 0; i < r->nvariants; i++)
		json_add_shape(out, &variant_row_shape, &r->variants[i]);
	json_end_array(out);
	json_put_array(out, "trials");
	for (int i = 0; i < r->ntrials; i++)
		json_add_shape(out, &trial_row_shape, &r->trials[i]);
	json_end_array(out);
	json_put_array(out, "statistics");
	for (int i = 0; i < r->nstats; i++)
		write_stats(&r->stats[i], out);
	json_end_array(out);
	json_put_array(out, "same");
	for (int i = 0; i < r->nstats; i++)
		for (int k = i + 1; k < r->nstats; k++)
			write_pair(&r->stats[i], &r->stats[k], out);
	json_end_array(out);
	json_end_object(out);
	buf_addc(out, '\n');
	return buf_ok(out, "the report", e);
}
