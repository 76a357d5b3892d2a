/* Line plots as SVG. Colours and fonts come from the page's style sheet, so
 * that a plot is readable in print, light and dark. */
#include "bench/frame.h"

#include <math.h>
#include <stdio.h>

#define WIDTH  720.0
#define HEIGHT 380.0
#define LEFT   78.0
#define RIGHT  16.0
#define TOP    16.0
#define BOTTOM 52.0
#define COLORS 8

struct axis {
	double min;
	double max;
	enum bench_scale scale;
	double from; /* pixels of min and max */
	double to;
};

static double place(const struct axis *a, double v)
{
	double low = a->min, high = a->max;

	if (a->scale != BENCH_LINEAR) {
		low = log10(low);
		high = log10(high);
		v = log10(v > 0 ? v : a->min);
	}
	if (high <= low)
		return a->from;
	return a->from + (v - low) / (high - low) * (a->to - a->from);
}

static void stretch(struct axis *a, const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a->scale != BENCH_LINEAR && v[i] <= 0)
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

/* Out to the next power of the base of the scale. */
static void round_powers(struct axis *a)
{
	double base = log(a->scale == BENCH_LOG ? 10 : 2);

	a->min = exp(base * floor(log(a->min) / base + 1e-9));
	a->max = exp(base * ceil(log(a->max) / base - 1e-9));
	if (a->max <= a->min * 1.01)
		a->max = a->min * exp(base);
}

static void round_axis(struct axis *a)
{
	double step;

	if (a->max < a->min) { /* no points */
		a->min = a->scale == BENCH_LINEAR ? 0 : 1;
		a->max = a->scale == BENCH_LINEAR ? 1 : 10;
	}
	if (a->scale != BENCH_LINEAR) {
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

	if (a->scale != BENCH_LINEAR) {
		step = a->scale == BENCH_LOG ? 10 : 2;
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

static void curve(const struct bench_series *s, size_t color,
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

static void labels(const struct bench_plot *p, struct buf *out)
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

static void legend(const struct bench_plot *p, struct buf *out)
{
	buf_adds(out, "<p class='legend'>");
	for (size_t i = 0; i < p->nseries; i++) {
		buf_addf(out, "<span><i class='c%zu'></i>", i % COLORS);
		html_text(out, p->series[i].name);
		buf_adds(out, "</span> ");
	}
	buf_adds(out, "</p>\n");
}

void plot_svg(const struct bench_plot *p, struct buf *out)
{
	struct axis x = {1, 0, p->x_scale, LEFT, WIDTH - RIGHT};
	struct axis y = {1, 0, p->y_scale, HEIGHT - BOTTOM, TOP};

	for (size_t i = 0; i < p->nseries; i++) {
		stretch(&x, p->series[i].x, p->series[i].n);
		stretch(&y, p->series[i].y, p->series[i].n);
	}
	round_axis(&x);
	round_axis(&y);
	buf_adds(out, "<figure><figcaption>");
	html_text(out, p->title);
	buf_addf(out,
		 "</figcaption>\n<svg viewBox='0 0 %.0f %.0f' role='img'>\n",
		 WIDTH, HEIGHT);
	ticks(&x, out, x_tick);
	ticks(&y, out, y_tick);
	for (size_t i = 0; i < p->nseries; i++)
		curve(&p->series[i], i, &x, &y, out);
	labels(p, out);
	buf_adds(out, "</svg>\n");
	legend(p, out);
	buf_adds(out, "</figure>\n");
}
