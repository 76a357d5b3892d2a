#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "cli/cli.h"

/* A list that ends with --limit rows says how to go on. */
struct page {
	int64_t limit, n;
	char last[64]; /* what --before takes */
};

/* With --limit, or so many. */
struct page page_begin(const struct cli *cli, int64_t limit);
__attribute__((format(printf, 2, 3))) void page_row(struct page *p,
						    const char *fmt, ...);
void page_end(struct cli *cli, const struct page *p);

#endif
