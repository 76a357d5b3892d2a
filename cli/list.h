#ifndef CLI_LIST_H
#define CLI_LIST_H

#include "cli/cli.h"
#include "schema/control/lists.h"

/*
 * The output of a list command: a table, or what --quiet, --json or -o ask for
 * (OPT_LIST). An empty list is reported on stderr, so that a command never
 * prints nothing. An invalid -o fails the command: see cli_fail_later.
 *
 *   struct cli_list l = {.cli = cli, .shape = &thing_row_shape,
 *                        .columns = "id state", .none = "no things"};
 *   for (…) cli_list_add(&l, &row);
 *   cli_list_end(&l);
 */
struct cli_list {
	struct cli *cli;
	const struct shape *shape;
	const char *columns; /* of the table; the first one identifies a row */
	const char *none;    /* "no runs; 'skep run AGENT PROMPT' starts one" */
	int64_t limit;       /* a list of this length explains how to
			      * continue */
	/* Changes a row before it is printed; or NULL. */
	void (*prepare)(struct cli *cli, void *row);
	/* The value of --before for the page after a row; NULL: the first
	 * column. */
	void (*cursor)(const void *row, char out[64]);

	struct table *table; /* private from here on */
	enum list_format {
		LIST_UNKNOWN,
		LIST_TABLE,
		LIST_NAME,  /* only the first column */
		LIST_JSON,  /* an array */
		LIST_JSONL, /* an object per line */
		LIST_CSV,
		LIST_INVALID
	} format;
	int64_t n;
	char last[64];
};

void cli_list_add(struct cli_list *l, void *row);
void cli_list_end(struct cli_list *l);

/* All rows of a query. */
int cli_list_query(struct cli_list *l, struct sql *db, unsigned query,
		   const void *in, struct err *e);

/* A list of the control plane: see schema/control/lists.h. */
int cli_list_control(struct cli_list *l, enum lists_kind kind,
		     const void *filter, struct err *e);

#endif
