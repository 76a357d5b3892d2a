#ifndef CLI_SCREEN_TOP_ROWS_H
#define CLI_SCREEN_TOP_ROWS_H

#include "cli/cli.h"
#include "cli/run/ps_view.h"
#include "lib/base/id.h"

/* The rows of skep top: read, filtered and sorted. No terminal is involved. */
#define TOP_CELL 64

enum top_column {
	TOP_ID,
	TOP_AGENT,
	TOP_STATE,
	TOP_AGE,
	TOP_EVENTS,
	TOP_MEMORY,
	TOP_PHASE,
	TOP_NAME,
	TOP_COLUMNS
};

struct top_row {
	char id[ID_SIZE];
	char cell[TOP_COLUMNS][TOP_CELL];
	int64_t number[TOP_COLUMNS]; /* what numeric columns are sorted by */
};

struct top_rows {
	struct top_row *row; /* on the heap */
	int n, cap;
	enum top_column sort;
	bool descending;
	char filter[TOP_CELL]; /* "" for all: text in any cell */
};

extern const char *const top_heads[TOP_COLUMNS];

int top_rows_read(struct top_rows *t, struct cli *cli, struct err *e);
void top_rows_fini(struct top_rows *t);

/* The widths of the columns for a terminal: a column without room gets 0. */
void top_widths(const struct top_rows *t, int columns, int width[TOP_COLUMNS]);

#endif
