/* Line plots as SVG, in a page or as a file. Colours come from variables of a
 * style sheet, so that a plot is readable in print, light and dark. */
#include "lib/report/plot.h"

#include "lib/report/html.h"

#include <math.h>
#include <stdio.h>

#define WIDTH      720.0
#define HEIGHT     380.0
#define LEFT       78.0
#define RIGHT      16.0
#define TOP        16.0
#define BOTTOM     52.0
#define LEGEND_ROW 20.0
#define COLORS     8

static const char style[] =
	":root{--fg:#1b1f24;--bg:#fff;--soft:#57606a;--line:#d0d7de;"
	"--c0:#0b62d6;--c1:#d1480f;--c2:#188038;--c3:#8430ce;--c4:#b8860b;"
	"--c5:#00838f;--c6:#c2185b;--c7:#5f6368}\n"
	"@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--bg:#0d1117;"
	"--soft:#9198a1;--line:#30363d;--c0:#6cb6ff;--c1:#ff9863;--c2:#6fdd8b;"
	"--c3:#c9a3ff;--c4:#eac55f;--c5:#56d4dd;--c6:#ff80ab;--c7:#b1bac4}}\n"
	"@media print{:root{--fg:#000;--bg:#fff;--soft:#333;--line:#bbb;"
	"--c0:#0b62d6;--c1:#d1480f;--c2:#188038;--c3:#8430ce;--c4:#b8860b;"
	"--c5:#00838f;--c6:#c2185b;--c7:#5f6368}}\n"
	"svg text{fill:var(--soft);font:12px system-ui,sans-serif}"
	"svg .label{fill:var(--fg)}svg .title{fill:var(--fg);font-weight:600;"
	"font-size:14px}\n"
	".grid{stroke:var(--line);stroke-width:1}.curve{fill:none;"
	"stroke-width:2;stroke-linejoin:round}\n";

struct axis {
	double min;
	double max;
	enum plot_scale scale;
	double from; /* pixels of min and max */
	double to;
};

static double place(const struct axis *a, double v)
{
	double low = a->min, high = a->max;

	if (a->scale != PLOT_LINEAR) {
		low = log10(low);
		high = log10(high);
		v = log10(v > 0 ? v : a->min);
	}
	if (high <= low)
		return a->from;
	return a->from + (v - low) / (high - low) * (a->to - a->from);
}

static void segment(struct axis *a, const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a->scale != PLOT_LINEAR && v[i] <= 0)
			continue;
		if (a->max < a->min) /* nothing yet */
			a->min = a->max = v[i];
		a->min = v[i] < a->min ? v[i] : a->min;
		a->max = v[i] > a->max ? v[i] : a->max;
	}
}

/* 1, 2 or 5 times a power of ten, for about five steps. */
static double nice_step(double range)
{
	double raw = range / 5, power = pow(10, floor(log10(raw)));
	double share = raw / power;

	return power * (share > 5 ? 10 : share > 2 ? 5 : share > 1 ? 2 : 1);
}

/* Rounds outwards to the next power of the base of the scale. */
static void round_powers(struct axis *a)
{
	double base = log(a->scale == PLOT_LOG ? 10 : 2);

	a->min = exp(base * floor(log(a->min) / base + 1e-9));
	a->max = exp(base * ceil(log(a->max) / base - 1e-9));
	if (a->max <= a->min * 1.01)
		a->max = a->min * exp(base);
}

static void round_axis(struct axis *a)
{
	double step;

	if (a->max < a->min) { /* no points */
		a->min = a->scale == PLOT_LINEAR ? 0 : 1;
		a->max = a->scale == PLOT_LINEAR ? 1 : 10;
	}
	if (a->scale != PLOT_LINEAR) {
		round_powers(a);
		return;
	}
	if (a->min > 0)
		a->min = 0;
	if (a->max <= a->min)
		a->max = a->min + 1;
	step = nice_step(a->max - a->min);
	a->max = ceil(a->max / step) * step;
}

static const char *short_number(double v, char *out, size_t n)
{
	if (fabs(v) >= 1e6)
		snprintf(out, n, "%gM", v / 1e6);
	else if (fabs(v) >= 1e4)
		snprintf(out, n, "%gk", v / 1e3);
	else
		snprintf(out, n, "%g", v);
	return out;
}

static void x_tick(const struct axis *x, double v, struct buf *out)
{
	char text[32];
	double at = place(x, v);

	buf_addf(out,
		 "<line class='grid' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/>"
		 "<text x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n",
		 at, TOP, at, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 18,
		 short_number(v, text, sizeof text));
}

static void y_tick(const struct axis *y, double v, struct buf *out)
{
	char text[32];
	double at = place(y, v);

	buf_addf(out,
		 "<line class='grid' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/>"
		 "<text x='%.1f' y='%.1f' text-anchor='end'>%s</text>\n",
		 LEFT, at, WIDTH - RIGHT, at, LEFT - 8, at + 4,
		 short_number(v, text, sizeof text));
}

static void ticks(const struct axis *a, struct buf *out,
		  void (*tick)(const struct axis *, double, struct buf *))
{
	double step;
	int n;

	if (a->scale != PLOT_LINEAR) {
		step = a->scale == PLOT_LOG ? 10 : 2;
		n = (int)(log(a->max * 1.001 / a->min) / log(step));
		for (int i = 0; i <= n; i++)
			tick(a, a->min * pow(step, i), out);
		return;
	}
	step = nice_step(a->max - a->min);
	n = (int)((a->max - a->min) / step + 0.001);
	for (int i = 0; i <= n; i++)
		tick(a, a->min + step * i, out);
}

static void curve(const struct plot_series *s, size_t color,
		  const struct axis *x, const struct axis *y, struct buf *out)
{
	buf_addf(out, "<polyline class='curve c%zu' points='", color % COLORS);
	for (size_t i = 0; i < s->n; i++)
		buf_addf(out, "%.1f,%.1f ", place(x, s->x[i]),
			 place(y, s->y[i]));
	buf_adds(out, "'/>\n");
	for (size_t i = 0; s->n <= 40 && i < s->n; i++) {
		buf_addf(out,
			 "<circle class='c%zu' cx='%.1f' cy='%.1f' r='3.2'>"
			 "<title>",
			 color % COLORS, place(x, s->x[i]), place(y, s->y[i]));
		html_text(out, s->name);
		buf_addf(out, ": %.5g, %.5g</title></circle>\n", s->x[i],
			 s->y[i]);
	}
}

static void labels(const struct plot *p, struct buf *out)
{
	buf_addf(out,
		 "<text class='label' x='%.1f' y='%.1f' text-anchor='middle'>",
		 (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12);
	html_text(out, p->x_label);
	buf_addf(out,
		 "</text><text class='label' text-anchor='middle' "
		 "transform='translate(16,%.1f) rotate(-90)'>",
		 (TOP + HEIGHT - BOTTOM) / 2);
	html_text(out, p->y_label);
	buf_adds(out, "</text>\n");
}

static double legend_height(const struct plot *p)
{
	size_t rows = (p->nseries + 1) / 2;

	return LEGEND_ROW * (double)rows + 6;
}

/* Two columns below the plot. */
static void legend(const struct plot *p, struct buf *out)
{
	for (size_t i = 0; i < p->nseries; i++) {
		size_t row = i / 2, column = i % 2;
		double x = LEFT + (double)column * (WIDTH - LEFT) / 2;
		double y = HEIGHT + LEGEND_ROW * (double)row;

		buf_addf(out,
			 "<rect class='c%zu' x='%.1f' y='%.1f' width='10' "
			 "height='10' rx='2'/><text class='label' x='%.1f' "
			 "y='%.1f'>",
			 i % COLORS, x, y, x + 16, y + 10);
		html_text(out, p->series[i].name);
		buf_adds(out, "</text>\n");
	}
}

void plot_style(struct buf *out)
{
	buf_adds(out, style);
	for (int i = 0; i < COLORS; i++)
		buf_addf(out,
			 "polyline.c%d{stroke:var(--c%d)}"
			 "circle.c%d,rect.c%d{fill:var(--c%d)}\n",
			 i, i, i, i, i);
}

static void draw(const struct plot *p, struct buf *out)
{
	struct axis x = {1, 0, p->x_scale, LEFT, WIDTH - RIGHT};
	struct axis y = {1, 0, p->y_scale, HEIGHT - BOTTOM, TOP};

	for (size_t i = 0; i < p->nseries; i++) {
		segment(&x, p->series[i].x, p->series[i].n);
		segment(&y, p->series[i].y, p->series[i].n);
	}
	round_axis(&x);
	round_axis(&y);
	ticks(&x, out, x_tick);
	ticks(&y, out, y_tick);
	for (size_t i = 0; i < p->nseries; i++)
		curve(&p->series[i], i, &x, &y, out);
	labels(p, out);
	legend(p, out);
}

void plot_figure(const struct plot *p, struct buf *out)
{
	buf_adds(out, "<figure><figcaption>");
	html_text(out, p->title);
	buf_addf(out,
		 "</figcaption>\n<svg viewBox='0 0 %.0f %.0f' role='img'>\n",
		 WIDTH, HEIGHT + legend_height(p));
	draw(p, out);
	buf_adds(out, "</svg>\n</figure>\n");
}

void plot_file(const struct plot *p, struct buf *out)
{
	buf_addf(out,
		 "<svg xmlns='http://www.w3.org/2000/svg' "
		 "viewBox='0 -24 %.0f %.0f'>\n<style>\n",
		 WIDTH, HEIGHT + legend_height(p) + 24);
	plot_style(out);
	buf_addf(out,
		 "</style>\n<rect y='-24' width='%.0f' height='%.0f' "
		 "fill='var(--bg)'/>\n<text class='title' x='%d' y='-6'>",
		 WIDTH, HEIGHT + legend_height(p) + 24, 12);
	html_text(out, p->title);
	buf_adds(out, "</text>\n");
	draw(p, out);
	buf_adds(out, "</svg>\n");
}
