#include "lib/report/html.h"

#include "lib/report/plot.h"

static const char style[] =
	":root{--good:#1a7f37;--bad:#b35900}\n"
	"@media(prefers-color-scheme:dark){:root{--good:#3fb950;"
	"--bad:#e3a24c}}\n"
	"@media print{figure,table{break-inside:avoid}}\n"
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
	"pre{overflow:auto;padding:.5rem;border:1px solid var(--line);"
	"font-size:.85rem}figure{margin:1.5rem 0}figcaption{font-weight:600}"
	"svg{width:100%;height:auto}\n";

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

void html_begin(struct buf *out, const char *title)
{
	buf_adds(out, "<!DOCTYPE html>\n<html lang='en'><head><meta "
		      "charset='utf-8'><meta name='viewport' "
		      "content='width=device-width'><title>");
	html_text(out, title);
	buf_adds(out, "</title><style>\n");
	plot_style(out);
	buf_adds(out, style);
	buf_adds(out, "</style></head><body>\n");
}

void html_end(struct buf *out)
{
	buf_adds(out, "</body></html>\n");
}
