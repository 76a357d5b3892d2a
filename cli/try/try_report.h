#ifndef CLI_TRY_TRY_REPORT_H
#define CLI_TRY_TRY_REPORT_H

#include "cli/try/try_stats.h"

/* The report of an experiment. Texts live as long as the command. */
struct try_report {
	struct experiment_row row;
	struct variant_row *variants;
	struct trial_row *trials;
	struct try_variant *stats;
	int nvariants, ntrials, nstats;
};

/* id NULL: the newest experiment. */
int try_report_read(struct cli *cli, const char *id, struct try_report *out,
		    struct err *e);
int try_report_json(const struct try_report *r, struct buf *out, struct err *e);
int try_report_html(struct cli *cli, const struct try_report *r,
		    struct buf *out, struct err *e);

#endif
