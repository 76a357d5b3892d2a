/* The report: one HTML file without scripts or external resources. */
#include "bench/harness.h"
#include "lib/base/clock.h"
#include "lib/os/atomic_file.h"
#include "lib/report/html.h"

#include <string.h>

static void add_row(struct buf *out, const char *cells, const char *tag)
{
	char cell[512];

	buf_adds(out, "<tr>");
	for (;;) {
		size_t n = strcspn(cells, "|");
		size_t keep = n < sizeof cell - 1 ? n : sizeof cell - 1;

		memcpy(cell, cells, keep);
		cell[keep] = '\0';
		buf_addf(out, "<%s>", tag);
		html_text(out, cell);
		buf_addf(out, "</%s>", tag);
		if (!cells[n])
			break;
		cells += n + 1;
	}
	buf_adds(out, "</tr>\n");
}

static void add_tables(struct buf *out, const struct kept *k)
{
	for (const struct kept_table *t = k->tables; t; t = t->next) {
		buf_adds(out, "<h3>");
		html_text(out, t->title);
		buf_adds(out, "</h3>\n<table>");
		for (const struct kept_row *r = t->rows; r; r = r->next)
			add_row(out, r->cells, r == t->rows ? "th" : "td");
		buf_adds(out, "</table>\n");
	}
}

static void add_metrics(struct buf *out, const struct kept *k)
{
	if (!k->metrics)
		return;
	buf_adds(out, "<h3>metrics</h3>\n<p>A ratio over 1 means that we are "
		      "better.</p>\n<table><tr><th>metric</th><th>value</th>"
		      "<th>±</th><th>unit</th><th>against</th><th>value</th>"
		      "<th>ratio</th></tr>\n");
	for (const struct kept_metric *m = k->metrics; m; m = m->next) {
		buf_addf(out, "<tr><td>%s</td><td>%.5g</td><td>%.2g</td><td>",
			 m->m.metric, m->value, m->spread);
		html_text(out, m->m.unit);
		buf_adds(out, "</td><td>");
		html_text(out, m->m.against ? m->m.against : "");
		if (m->ratio > 0)
			buf_addf(out,
				 "</td><td>%.5g</td><td class='%s'>%.2f</td>",
				 m->m.against_value,
				 m->ratio >= 1 ? "good" : "bad", m->ratio);
		else
			buf_adds(out, "</td><td></td><td></td>");
		buf_adds(out, "</tr>\n");
	}
	buf_adds(out, "</table>\n");
}

static void add_bench(struct buf *out, const struct kept *k)
{
	buf_adds(out, "<h2>");
	html_text(out, k->bench->name);
	buf_adds(out, "</h2>\n<p>");
	html_text(out, k->bench->help);
	buf_adds(out, "</p>\n");
	for (const struct kept_text *t = k->notes; t; t = t->next) {
		buf_adds(out, "<p>");
		html_text(out, t->text);
		buf_adds(out, "</p>\n");
	}
	for (const struct kept_plot *p = k->plots; p; p = p->next)
		plot_figure(&p->plot, out);
	add_metrics(out, k);
	add_tables(out, k);
}

static void add_env(struct buf *out, const struct env *env)
{
	char when[CLOCK_TEXT];

	buf_addf(out, "<p class='env'>%s", clock_text(clock_now(), when));
	for (size_t i = 0; i < env->n; i++) {
		buf_addf(out, " · %s ", env->items[i].name);
		html_text(out, env->items[i].value);
	}
	buf_adds(out, "</p>\n");
}

/* DIR/BENCH-1.svg and so on, for other documents. */
int report_plots(struct bench_run *r, struct err *e)
{
	struct buf out = BUF_MAX(64u << 20), path = BUF_MAX(8192);
	int rc = 0;

	for (const struct kept *k = r->kept; k && !rc; k = k->next) {
		int n = 0;

		for (const struct kept_plot *p = k->plots; p && !rc;
		     p = p->next) {
			buf_clear(&out);
			buf_clear(&path);
			buf_addf(&path, "%s/%s-%d.svg", r->plots,
				 k->bench->name, ++n);
			plot_file(&p->plot, &out);
			rc = buf_ok(&out, "plot", e);
			if (!rc)
				rc = atomic_file_write(path.p, out.p, out.n,
						       0644, e);
		}
	}
	buf_fini(&out);
	buf_fini(&path);
	return rc;
}

int report_write(struct bench_run *r, struct err *e)
{
	struct buf out = BUF_MAX(64u << 20);
	int rc;

	html_begin(&out, "skep-bench");
	buf_adds(&out, "<h1>skep-bench</h1>\n");
	add_env(&out, &r->env);
	for (const struct kept *k = r->kept; k; k = k->next)
		add_bench(&out, k);
	html_end(&out);
	rc = buf_ok(&out, r->report, e);
	if (!rc)
		rc = atomic_file_write(r->report, out.p, out.n, 0644, e);
	buf_fini(&out);
	return rc;
}
