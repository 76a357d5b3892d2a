/* The report: one HTML file with everything in it, no script, no network. */
#include "base/clock.h"
#include "base/file.h"
#include "bench/frame.h"

#include <string.h>

static const char style[] =
	":root{--fg:#1b1f24;--bg:#fff;--soft:#57606a;--line:#d0d7de;"
	"--good:#1a7f37;--bad:#b35900;--c0:#0b62d6;--c1:#d1480f;--c2:#188038;"
	"--c3:#8430ce;--c4:#b8860b;--c5:#00838f;--c6:#c2185b;--c7:#5f6368}\n"
	"@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;"
	"--soft:#9198a1;--line:#30363d;--good:#3fb950;--bad:#e3a24c;"
	"--c0:#6cb6ff;--c1:#ff9863;--c2:#6fdd8b;--c3:#c9a3ff;--c4:#eac55f;"
	"--c5:#56d4dd;--c6:#ff80ab;--c7:#b1bac4}}\n"
	"@media print{:root{--fg:#000;--bg:#fff}figure,table{break-inside:"
	"avoid}}\n"
	"body{font:16px/1.5 system-ui,sans-serif;color:var(--fg);"
	"background:var(--bg);max-width:60rem;margin:2rem auto;"
	"padding:0 1rem}\n"
	"h1{font-size:1.6rem}h2{margin-top:2.5rem;border-bottom:1px solid "
	"var(--line)}h3{margin-bottom:.3rem}\n"
	"table{border-collapse:collapse;margin:1rem 0;font-size:.9rem;"
	"font-variant-numeric:tabular-nums}\n"
	"td,th{padding:.25rem .7rem;border-bottom:1px solid var(--line);"
	"text-align:right}td:first-child,th:first-child{text-align:left}\n"
	".env{color:var(--soft);font-size:.85rem}.good{color:var(--good)}"
	".bad{color:var(--bad)}\n"
	"figure{margin:1.5rem 0}figcaption{font-weight:600}"
	"svg{width:100%;height:auto}svg text{fill:var(--soft);font:12px "
	"system-ui,sans-serif}svg .label{fill:var(--fg)}\n"
	".grid{stroke:var(--line);stroke-width:1}.curve{fill:none;"
	"stroke-width:2;stroke-linejoin:round}\n"
	".legend span{margin-right:1.2rem;white-space:nowrap}.legend i{"
	"display:inline-block;width:.8em;height:.8em;margin-right:.4em;"
	"border-radius:2px}\n";

static void add_colors(struct buf *out)
{
	for (int i = 0; i < 8; i++)
		buf_addf(out,
			 "polyline.c%d{stroke:var(--c%d)}circle.c%d{fill:"
			 "var(--c%d)}i.c%d{background:var(--c%d)}\n",
			 i, i, i, i, i, i);
}

void html_text(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (*text == '<')
			buf_adds(out, "&lt;");
		else if (*text == '&')
			buf_adds(out, "&amp;");
		else if (*text == '"')
			buf_adds(out, "&quot;");
		else
			buf_addc(out, *text);
}

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

static void add_bench(struct buf *out, const struct kept *k)
{
	buf_adds(out, "<h2>");
	html_text(out, k->bench->name);
	buf_adds(out, "</h2>\n<p>");
	html_text(out, k->bench->help);
	buf_adds(out, "</p>\n");
	for (const struct kept_text *t = k->says; t; t = t->next) {
		buf_adds(out, "<p>");
		html_text(out, t->text);
		buf_adds(out, "</p>\n");
	}
	for (const struct kept_plot *p = k->plots; p; p = p->next)
		plot_svg(&p->plot, out);
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

int report_write(struct bench_run *r, struct err *e)
{
	struct buf out = BUF_MAX(64u << 20);
	int rc;

	buf_addf(&out,
		 "<!DOCTYPE html>\n<html lang='en'><head><meta "
		 "charset='utf-8'><meta name='viewport' "
		 "content='width=device-width'><title>skep-bench</title>"
		 "<style>\n%s",
		 style);
	add_colors(&out);
	buf_adds(&out, "</style></head><body>\n<h1>skep-bench</h1>\n");
	add_env(&out, &r->env);
	for (const struct kept *k = r->kept; k; k = k->next)
		add_bench(&out, k);
	buf_adds(&out, "</body></html>\n");
	rc = buf_ok(&out, r->report, e);
	if (!rc)
		rc = file_write_atomic(r->report, out.p, out.n, 0644, e);
	buf_fini(&out);
	return rc;
}
