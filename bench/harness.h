#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include "bench/bench.h"
#include "lib/base/arena.h"

/* Shared by the files of the harness: the state of a run, and the results so
 * far. Benchmarks themselves include only bench/bench.h. */

enum bench_output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV };

struct kept_plot { /* a plot whose texts and points are in the arena */
	struct plot plot;
	struct kept_plot *next;
};

struct kept_metric {
	const char *bench;
	struct bench_metric m; /* samples: a copy, or NULL */
	double value;
	double spread;
	double ratio; /* 0: nothing to compare with */
	struct kept_metric *next;
};

struct kept_row {
	const char *cells; /* divided by '|' */
	struct kept_row *next;
};

struct kept_table {
	const char *title;
	struct kept_row *rows; /* the first is the head */
	struct kept_row **end;
	struct kept_table *next;
};

struct kept_text {
	const char *text;
	struct kept_text *next;
};

/* All results of one benchmark, in order. */
struct kept {
	const struct bench *bench;
	struct kept_metric *metrics, **metrics_end;
	struct kept_text *notes, **notes_end;
	struct kept_table *tables, **tables_end;
	struct kept_plot *plots, **plots_end;
	struct kept *next;
};

struct env_item {
	const char *name;
	const char *value;
};

#define ENV_MAX 16

struct env {
	struct env_item items[ENV_MAX];
	size_t n;
	double load; /* per core, before the first measurement */
};

struct bench_run {
	struct arena arena; /* contains all results */
	const char *dir;
	char work[512]; /* our directory below dir; "" until it is used */
	double seconds;
	int rounds;
	bool quick;
	enum bench_output output;
	const char *report; /* file, or NULL */
	const char *plots;  /* directory, or NULL */
	struct env env;
	const char *options[32]; /* own options: name, value, name, value … */
	size_t noptions;
	const struct bench *bench;
	struct kept *kept, **kept_end, *now;
	bool noisy; /* a spread was wider than NOISE of its value */
	struct {
		bool shown;
		double since;
		double last;
	} bar;
};

#define NOISE 0.15

/* env.c: the environment of the measurement. */
void env_read(struct env *env, const char *dir, struct arena *a);
void env_json(const struct env *env, struct buf *out);

/* emit.c */
void output_metric(struct bench_run *r, const struct kept_metric *k);
void output_finish(
	struct bench_run *r); /* tables and sentences; nothing for CSV */

/* report.c */
int report_write(struct bench_run *r, struct err *e);
int report_plots(struct bench_run *r, struct err *e);

/* compare.c, bench/peers/peers.c: commands that measure nothing. */
int compare_command(int argc, char **argv, struct err *e);
int peers_command(int argc, char **argv, struct err *e);
bool peer_on_path(const char *program);

/* progress.c */
void stop_on_signals(void);
void progress_clear(struct bench_run *r);

#endif
