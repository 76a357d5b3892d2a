#ifndef LIB_REPORT_HTML_H
#define LIB_REPORT_HTML_H

#include "lib/base/buf.h"

/* A page without scripts or external resources, with plots (plot.h). */
void html_begin(struct buf *out, const char *title);
void html_end(struct buf *out);

/* Text, escaped; also for attributes in double quotes. */
void html_text(struct buf *out, const char *text);

#endif
