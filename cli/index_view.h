#ifndef CLI_INDEX_VIEW_H
#define CLI_INDEX_VIEW_H

#include "cli/cli.h"
#include "schema/agent/search/search.h"

/*
 * Shows the progress while a search index is updated: a count on a terminal,
 * otherwise one line on stderr after a second.
 */
struct index_view {
	struct progress bar;
	const char *what; /* "events", "files" */
	int64_t since;    /* clock_mono_ns */
	bool json, printed;
	struct index_watch watch; /* for the search */
};

void index_view_begin(struct index_view *v, const struct cli *cli,
		      const char *what);
void index_view_end(struct index_view *v);

#endif
