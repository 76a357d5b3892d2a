#include "cli/page.h"

#include <stdarg.h>
#include <stdio.h>

struct page page_begin(const struct cli *cli, int64_t limit)
{
	return (struct page){.limit = cli_number(cli, "limit", limit)};
}

void page_row(struct page *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->last, sizeof p->last, fmt, ap);
	va_end(ap);
	p->n++;
}

void page_end(struct cli *cli, const struct page *p)
{
	if (p->n > 0 && p->n == p->limit)
		output_note(&cli->out, "more: --before %s", p->last);
}
