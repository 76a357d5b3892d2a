#ifndef LIB_REPORT_PLOT_H
#define LIB_REPORT_PLOT_H

#include "lib/base/buf.h"

#include <stddef.h>

/* Line plots as SVG, in a page or as a file. Everything is borrowed. */

enum plot_scale { PLOT_LINEAR, PLOT_LOG, PLOT_DOUBLING };

struct plot_series {
	const char *name;
	const double *x;
	const double *y;
	size_t n;
};

struct plot {
	const char *title;
	const char *x_label;
	const char *y_label;
	enum plot_scale x_scale;
	enum plot_scale y_scale;
	const struct plot_series *series;
	size_t nseries;
};

void plot_style(struct buf *out); /* for a page with figures */
void plot_figure(const struct plot *p, struct buf *out);
void plot_file(const struct plot *p, struct buf *out); /* a complete file */

#endif
