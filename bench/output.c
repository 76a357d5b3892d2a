/* Prints results to stdout: tables, or one JSON object or CSV row per
 * metric. */
#include "bench/harness.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <string.h>

/* Six digits: more are noise. */
static void add_rounded(struct buf *b, double v)
{
	char text[32];

	snprintf(text, sizeof text, "%.6g", v);
	json_add_raw(b, text);
}

static void put_optional(struct buf *b, const char *name, double v, bool is)
{
	json_key(b, name);
	if (is)
		add_rounded(b, v);
	else
		json_add_null(b);
}

static void put_against(struct buf *b, const struct kept_metric *k)
{
	json_put_nullable(b, "against", k->m.against);
	put_optional(b, "against_value", k->m.against_value,
		     k->m.against != NULL);
	put_optional(b, "ratio", k->ratio, k->ratio > 0);
}

static void output_json(struct bench_run *r, const struct kept_metric *k)
{
	struct buf b = BUF_MAX(65536);

	json_begin_object(&b);
	json_put_text(&b, "bench", k->bench);
	json_put_text(&b, "metric", k->m.metric);
	json_put_text(&b, "unit", k->m.unit);
	put_optional(&b, "value", k->value, true);
	put_optional(&b, "spread", k->spread, true);
	put_against(&b, k);
	json_put_bool(&b, "less_is_better", k->m.less_is_better);
	json_put_array(&b, "samples");
	for (size_t i = 0; k->m.samples && i < k->m.samples->n; i++)
		add_rounded(&b, k->m.samples->v[i]);
	json_end_array(&b);
	json_key(&b, "env");
	env_json(&r->env, &b);
	json_end_object(&b);
	printf("%s\n", b.p);
	(void)fflush(stdout);
	buf_fini(&b);
}

static void output_csv(struct bench_run *r, const struct kept_metric *k)
{
	if (r->kept == r->now && r->now->metrics == k)
		printf("bench,metric,unit,value,spread,against,against_value,"
		       "ratio\n");
	printf("%s,%s,%s,%.6g,%.6g,%s,", k->bench, k->m.metric, k->m.unit,
	       k->value, k->spread, k->m.against ? k->m.against : "");
	if (k->m.against)
		printf("%.6g", k->m.against_value);
	if (k->ratio > 0)
		printf(",%.4g\n", k->ratio);
	else
		printf(",\n");
	(void)fflush(stdout);
}

void output_metric(struct bench_run *r, const struct kept_metric *k)
{
	progress_clear(r);
	if (r->output == OUTPUT_JSON)
		output_json(r, k);
	else if (r->output == OUTPUT_CSV)
		output_csv(r, k);
}

/* Columns that a terminal shows: every byte that starts a character. */
static int width_of(const char *s, size_t n)
{
	int w = 0;

	for (size_t i = 0; i < n; i++)
		w += ((unsigned char)s[i] & 0xc0) != 0x80;
	return w;
}

#define COLUMNS_MAX 16

static void measure_row(const char *cells, int *widths)
{
	for (int c = 0; c < COLUMNS_MAX; c++) {
		size_t n = strcspn(cells, "|");
		int w = width_of(cells, n);

		widths[c] = w > widths[c] ? w : widths[c];
		if (!cells[n])
			return;
		cells += n + 1;
	}
}

static void print_row(const char *cells, const int *widths)
{
	for (int c = 0; c < COLUMNS_MAX; c++) {
		size_t n = strcspn(cells, "|");
		int pad = widths[c] - width_of(cells, n);

		/* the first column is text, the others are numbers */
		printf("  %*s%.*s", c ? pad : 0, "", (int)n, cells);
		if (c == 0)
			printf("%*s", pad, "");
		if (!cells[n])
			break;
		cells += n + 1;
	}
	putchar('\n');
}

static void print_table(const struct kept_table *t)
{
	int widths[COLUMNS_MAX] = {0};

	for (const struct kept_row *row = t->rows; row; row = row->next)
		measure_row(row->cells, widths);
	printf("\n%s\n", t->title);
	for (const struct kept_row *row = t->rows; row; row = row->next)
		print_row(row->cells, widths);
}

static void print_metrics(struct bench_run *r)
{
	const char *title = "metrics (ratio over 1: we are better)";
	struct kept_table *t;

	bench_table(r, title, "metric|value|± |unit|against|value|ratio");
	for (const struct kept_metric *k = r->now->metrics; k; k = k->next) {
		char other[32] = "", ratio[32] = "";

		if (k->m.against)
			snprintf(other, sizeof other, "%.5g",
				 k->m.against_value);
		if (k->ratio > 0)
			snprintf(ratio, sizeof ratio, "%.2f", k->ratio);
		bench_table(r, title, "%s|%.5g|%.2g|%s|%s|%s|%s", k->m.metric,
			    k->value, k->spread, k->m.unit,
			    k->m.against ? k->m.against : "", other, ratio);
	}
	for (t = r->now->tables; t; t = t->next)
		if (strcmp(t->title, title) != 0)
			print_table(t);
	for (t = r->now->tables; t; t = t->next)
		if (!strcmp(t->title, title))
			print_table(t);
}

void output_finish(struct bench_run *r)
{
	if (r->output != OUTPUT_TEXT)
		return;
	printf("%s: %s\n", r->bench->name, r->bench->help);
	print_metrics(r);
	if (r->now->notes)
		putchar('\n');
	for (const struct kept_text *t = r->now->notes; t; t = t->next)
		printf("%s\n", t->text);
	putchar('\n');
	(void)fflush(stdout);
}
