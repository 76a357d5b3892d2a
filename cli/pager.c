/* Long output on a terminal goes through a pager. */
#include "cli/output.h"

#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *pager_command(void)
{
	const char *own = getenv("SKEP_PAGER"), *usual = getenv("PAGER");

	return own ? own : usual ? usual : "less";
}

void output_page_begin(struct output *o)
{
	const char *command = pager_command();

	if (!o->height || o->json || o->pager || !*command ||
	    !strcmp(command, "cat") || !isatty(STDIN_FILENO))
		return;
	(void)fflush(o->to);
	/* colours; end at once if it fits; do not clear the screen */
	setenv("LESS", "FRX", 0);
	o->pager = popen(command, "we"); // NOLINT(cert-env33-c)
	if (o->pager)
		o->to = terminal_filter(o->pager);
}

void output_page_end(struct output *o)
{
	if (!o->pager)
		return;
	(void)fflush(o->to);
	(void)pclose(o->pager);
	o->pager = NULL;
	o->to = terminal_filter(stdout);
}
