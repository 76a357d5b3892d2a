#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/report/plot.h"
#include "lib/report/stats.h"

#include <stddef.h>
#include <stdint.h>

/*
 * skep-bench: one program, one file per benchmark. bench/suites/bench_NAME.c
 * defines `const struct bench bench_NAME`, and benches.def has the line
 * BENCH(NAME). The harness handles options, progress, Ctrl-C, JSON, CSV, the
 * report and the environment. A benchmark
 *
 *   1. describes its cases (ours, reference, peers, limits) as bench_case,
 *   2. runs them in interleaved rounds with bench_interleave, and
 *   3. states its metrics (bench_metric), plots (bench_plot) and conclusions
 *      (bench_print).
 *
 * Benchmarks that do not consist of cases use bench_stopped, bench_dir and
 * bench_progress.
 */
struct bench_run;

struct bench_option { /* "--name VALUE"; value NULL: a switch */
	const char *name;
	const char *value;
	const char *help;
};

struct bench {
	const char *name;
	const char *help;  /* one line, for `skep-bench list` */
	const char *about; /* for --help: what is measured, and how */
	const struct bench_option *options; /* its own options, ends with {0};
					     * or 0 */
	double seconds; /* of one case in one round, unless --seconds */
	int rounds;
	int (*run)(struct bench_run *r, struct err *e);
};

/* --- the options of a run ---------------------------------------------- */

double bench_seconds(const struct bench_run *r);
int bench_rounds(const struct bench_run *r);
/* A short pass for correctness (--quick): small sizes, one round. */
bool bench_is_quick(const struct bench_run *r);
/* Ctrl-C was pressed: end the measurement, report the results so far. */
bool bench_stopped(const struct bench_run *r);
/* The value of an own option ("" for a switch), or NULL. */
const char *bench_option(const struct bench_run *r, const char *name);
int64_t bench_option_i64(
	const struct bench_run *r, const char *name,
	int64_t other); /* ends the program if it is not a number */
/* Creates an empty directory below --dir, which is deleted at the end. */
const char *bench_dir(struct bench_run *r, const char *name);
void bench_dir_remove(struct bench_run *r,
		      const char *path); /* earlier than at the
							       * end */
/* done of total (any unit); `what` is shown. Cheap: call it often. */
void bench_progress(struct bench_run *r, const char *what, double done,
		    double total);

/* --- cases in interleaved rounds -------------------------------------- */

struct bench_sample { /* one case in one round; zeroed by the harness */
	double value; /* usually operations per second */
	struct histogram wait; /* ns of each operation, if it is measured */
	int64_t operations;    /* for the figures per operation */
	struct usage {         /* set by the harness, including children */
		double cpu_s;
		int64_t switches; /* context switches, of both kinds */
		int64_t written;  /* bytes handed to the disk */
	} usage;
	double more[4]; /* other counts of the benchmark */
};

/* The usage so far, of this process and of its ended children; and since
 * then. */
struct usage bench_usage(void);
struct usage bench_usage_since(struct usage was);

struct bench_case {
	const char *name; /* "ours", "reference", … */
	/* Measures for bench_seconds(r). -1 ends the benchmark. ERR_UNSUPPORTED
	 * skips the case with a message: a peer is not installed. */
	int (*measure)(struct bench_run *r, void *arg, struct bench_sample *out,
		       struct err *e);
	void *arg;
};

struct bench_result {
	const char *name;
	bool skipped;
	struct samples values;  /* of the rounds: median and spread */
	struct histogram wait;  /* of all rounds together */
	struct samples more[4]; /* of bench_sample.more */
	struct samples p99_us;  /* of the rounds */
	int64_t operations;
	struct usage usage; /* sums */
};

/* One warm-up, then bench_rounds(r) rounds; each round runs every case once, in
 * rotating order. `results` has n elements. After Ctrl-C: the results so far,
 * and 0. */
int bench_interleave(struct bench_run *r, const struct bench_case *cases,
		     size_t n, struct bench_result *results, struct err *e);

/* --- results ----------------------------------------------------------- */

struct bench_metric {
	const char *metric;
	const char *unit;
	const struct samples *samples; /* median and spread come from here, … */
	double value;                  /* … or from here if it is NULL */
	bool less_is_better;
	const char *against; /* a peer or a limit; NULL: none */
	double against_value;
};

/* A ratio above 1 means that skep is better. */
void bench_metric(struct bench_run *r, const struct bench_metric *m);

/* A sentence about the result, for the terminal and the report. */
void bench_print(struct bench_run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A row of a table on the screen and in the report: cells divided by '|'. The
 * first row of a table is its head; another title starts another table. */
void bench_table(struct bench_run *r, const char *title, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void bench_plot(struct bench_run *r, const struct plot *p);
/* The distribution of latencies, one curve per result. */
void bench_plot_waits(struct bench_run *r, const char *title,
		      const struct bench_result *results, size_t n);

#endif
