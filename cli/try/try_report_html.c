/* The report as one page without scripts or external resources. */
#include "cli/try/try_report.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/report/html.h"
#include "lib/report/plot.h"
#include "schema/agent/transcript/answer.h"
#include "schema/control/registry.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/diff.h"
#include "vfs/snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

#define DIFF_MAX    ((size_t)64 << 10) /* bytes of a trial */
#define OUTPUT_MAX  ((size_t)64 << 20)
#define OUTPUT_TAIL 8192 /* bytes of a check that are shown */

static void cell(struct buf *out, const char *tag, const char *text)
{
	buf_addf(out, "<%s>", tag);
	html_text(out, text ? text : "");
	buf_addf(out, "</%s>", tag);
}

static void number_cell(struct buf *out, int64_t n)
{
	if (n == OPT_NONE)
		buf_adds(out, "<td></td>");
	else
		buf_addf(out, "<td>%lld</td>", (long long)n);
}

static void add_head(const struct experiment_row *x, struct buf *out)
{
	char when[CLOCK_TEXT];

	buf_adds(out, "<h1>Experiment ");
	html_text(out, x->id);
	buf_adds(out, "</h1>\n<p class='env'>");
	html_text(out, clock_text(x->created_at, when));
	buf_adds(out, " · ");
	html_text(out, x->state);
	buf_adds(out, " · from ");
	html_text(out, x->agent);
	buf_addc(out, ':');
	html_text(out, x->source);
	buf_addc(out, '@');
	html_text(out, x->snapshot);
	if (x->picked != OPT_NONE)
		buf_addf(out, " · trial %lld was picked", (long long)x->picked);
	buf_adds(out, "</p>\n");
	if (!x->check_command)
		return;
	buf_adds(out, "<p>Check:</p>\n<pre>");
	html_text(out, x->check_command);
	buf_adds(out, "</pre>\n");
}

static void add_prompts(const struct try_report *r, struct buf *out)
{
	buf_adds(out, "<h2>Variants</h2>\n");
	for (int i = 0; i < r->nvariants; i++) {
		buf_adds(out, "<details><summary>");
		html_text(out, r->variants[i].name);
		buf_adds(out, ": agent ");
		html_text(out, r->variants[i].agent);
		buf_adds(out, "</summary>\n<pre>");
		html_text(out, r->variants[i].prompt);
		buf_adds(out, "</pre>\n<pre>");
		html_text(out, r->variants[i].options);
		buf_adds(out, "</pre></details>\n");
	}
}

static void add_medians(const struct try_report *r, struct buf *out)
{
	buf_adds(out, "<p>Median ± half of the interquartile range, of the "
		      "trials that succeeded.</p>\n<table><tr><th>variant</th>"
		      "<th>trials</th><th>succeeded</th><th>passed</th>");
	for (int m = 0; m < TRY_CHECK; m++)
		cell(out, "th", try_metric_names[m]);
	buf_adds(out, "</tr>\n");
	for (int i = 0; i < r->nstats; i++) {
		const struct try_variant *v = &r->stats[i];

		buf_adds(out, "<tr>");
		cell(out, "td", v->name);
		number_cell(out, v->trials);
		number_cell(out, v->succeeded);
		number_cell(out, v->checked ? v->passed : OPT_NONE);
		for (int m = 0; m < TRY_CHECK; m++)
			buf_addf(out, "<td>%.4g ± %.2g %s</td>",
				 samples_median(&v->samples[m]),
				 samples_spread(&v->samples[m]),
				 try_metric_units[m]);
		buf_adds(out, "</tr>\n");
	}
	buf_adds(out, "</table>\n");
}

static void add_pairs(const struct try_report *r, struct buf *out)
{
	if (r->nstats < 2)
		return;
	buf_adds(out, "<h3>Do two variants differ?</h3>\n<p>The probability "
		      "that results of one source differ as much "
		      "(permutation test).</p>\n<table><tr><th>variants</th>");
	for (int m = 0; m < TRY_METRICS; m++)
		cell(out, "th", try_metric_names[m]);
	buf_adds(out, "</tr>\n");
	for (int i = 0; i < r->nstats; i++)
		for (int k = i + 1; k < r->nstats; k++) {
			buf_adds(out, "<tr><td>");
			html_text(out, r->stats[i].name);
			buf_adds(out, " and ");
			html_text(out, r->stats[k].name);
			buf_adds(out, "</td>");
			for (int m = 0; m < TRY_METRICS; m++)
				buf_addf(out, "<td>%.3f</td>",
					 samples_p_same(
						 &r->stats[i].samples[m],
						 &r->stats[k].samples[m]));
			buf_adds(out, "</tr>\n");
		}
	buf_adds(out, "</table>\n");
}

/* The values of each variant, in the order of its trials. */
static void add_plot(const struct try_report *r, enum try_metric m,
		     const char *title, const char *unit, struct buf *out)
{
	struct plot_series *series = calloc((size_t)r->nstats + 1,
					    sizeof *series);
	double nth[SAMPLES_MAX];
	struct plot p = {.title = title,
			 .x_label = "run of the variant",
			 .y_label = unit,
			 .series = series,
			 .nseries = (size_t)r->nstats};

	if (!series)
		abort();
	for (int i = 0; i < SAMPLES_MAX; i++)
		nth[i] = i + 1;
	for (int i = 0; i < r->nstats; i++)
		series[i] = (struct plot_series){r->stats[i].name, nth,
						 r->stats[i].samples[m].v,
						 r->stats[i].samples[m].n};
	plot_figure(&p, out);
	free(series);
}

static void add_trials(const struct try_report *r, struct buf *out)
{
	buf_adds(out, "<h2>Trials</h2>\n<table><tr><th>trial</th><th>variant"
		      "</th><th>seed</th><th>outcome</th><th>ms</th><th>tokens"
		      "</th><th>cost</th><th>files</th><th>check</th><th>check "
		      "ms</th></tr>\n");
	for (int i = 0; i < r->ntrials; i++) {
		const struct trial_row *t = &r->trials[i];
		bool known = t->input_tokens != OPT_NONE;

		buf_addf(out, "<tr><td>%lld</td>", (long long)t->number);
		cell(out, "td", t->name);
		number_cell(out, t->seed);
		cell(out, "td", t->outcome ? t->outcome : t->state);
		number_cell(out, t->duration_ms);
		number_cell(out, known ? t->input_tokens + t->output_tokens
				       : OPT_NONE);
		if (t->cost_micros == OPT_NONE)
			buf_adds(out, "<td></td>");
		else
			buf_addf(out, "<td>%.4f</td>",
				 (double)t->cost_micros / 1e6);
		number_cell(out, t->files_changed);
		cell(out, "td", t->check_outcome);
		number_cell(out, t->check_ms);
		buf_adds(out, "</tr>\n");
	}
	buf_adds(out, "</table>\n");
}

/* --- what is in the files of the agents ------------------------------------ */

static void add_pre(struct buf *out, const char *title, const char *text,
		    size_t n)
{
	const char *from = n > OUTPUT_TAIL && !strcmp(title, "check")
				   ? text + n - OUTPUT_TAIL
				   : text;

	if (n == 0)
		return;
	buf_addf(out, "<p>%s:</p>\n<pre>", title);
	html_text(out, from);
	buf_adds(out, "</pre>\n");
}

static void add_check_output(struct agent_file *f, const struct trial_row *t,
			     struct buf *out)
{
	struct buf text = BUF_MAX(OUTPUT_MAX);
	struct err ignored;

	if (t->check_run &&
	    answer_of_run(f, t->check_run, t->check_run, &text, &ignored) >= 0)
		add_pre(out, "check", text.p, text.n);
	buf_fini(&text);
}

static void add_diff(struct agent_file *f, const struct trial_row *t,
		     struct buf *out)
{
	struct buf text = BUF_MAX(DIFF_MAX + 4096);
	struct err ignored;
	struct vfs *v;

	if (!t->has_fork || vfs_open(&v, f->db, t->fork, "cli", &ignored))
		return;
	if (vfs_diff_since(v, VFS_FORK_POINT, DIFF_MAX, &text, &ignored) == 0)
		add_pre(out, "changes", text.p, text.n);
	vfs_close(v);
	buf_fini(&text);
}

/* A file that cannot be read, or a fork that was deleted, is left out. */
static int add_details(struct cli *cli, const struct trial_row *t,
		       struct buf *out, struct err *e)
{
	struct agent_database_row row;
	struct agent_file f;
	struct err ignored;
	int found = registry_find(cli->control, t->agent, &row, &cli->arena, e);

	if (found <= 0 || registry_open(&row, 0, &f, &ignored))
		return found < 0 ? -1 : 0;
	buf_addf(out, "<details><summary>trial %lld</summary>\n",
		 (long long)t->number);
	add_check_output(&f, t, out);
	add_diff(&f, t, out);
	buf_adds(out, "</details>\n");
	agent_file_close(&f);
	return 0;
}

int try_report_html(struct cli *cli, const struct try_report *r,
		    struct buf *out, struct err *e)
{
	html_begin(out, r->row.id);
	add_head(&r->row, out);
	add_prompts(r, out);
	add_medians(r, out);
	add_pairs(r, out);
	add_plot(r, TRY_TIME, "Time of each run", "seconds", out);
	add_plot(r, TRY_FILES, "Files changed by each run", "files", out);
	add_plot(r, TRY_TOKENS, "Tokens of each run", "tokens", out);
	add_trials(r, out);
	for (int i = 0; i < r->ntrials; i++)
		if (add_details(cli, &r->trials[i], out, e))
			return -1;
	html_end(out);
	return 0;
}
