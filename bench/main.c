/* skep-bench: options, and the selection of the benchmark. */
#include "bench/harness.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH(name) extern const struct bench bench_##name;
#include "bench/benches.def"
#undef BENCH

static const struct bench *const benches[] = {

#define BENCH(name) &bench_##name,
#include "bench/benches.def"
#undef BENCH
};

#define NBENCHES (sizeof benches / sizeof benches[0])

static const struct bench_option common[] = {
	{"seconds", "S", "how long one case runs in one round"},
	{"rounds", "N", "how many rounds; medians are of the rounds"},
	{"dir", "DIR", "where files are made (default: the current directory)"},
	{"quick", NULL, "a short pass that only shows that it works"},
	{"json", NULL, "one JSON object a line and metric"},
	{"csv", NULL, "one row a metric"},
	{"report", "FILE", "also write a page with plots (HTML, one file)"},
	{"plots", "DIR", "also write each plot to DIR as SVG"},
	{"help", NULL, "this text"},
	{0},
};

static const struct bench *find_bench(const char *name)
{
	for (size_t i = 0; i < NBENCHES; i++)
		if (!strcmp(benches[i]->name, name))
			return benches[i];
	return NULL;
}

static void list_benches(void)
{
	for (size_t i = 0; i < NBENCHES; i++)
		printf("  %-12s %s\n", benches[i]->name, benches[i]->help);
}

static void print_options(const struct bench_option *o)
{
	for (; o && o->name; o++) {
		char left[40];

		snprintf(left, sizeof left, "--%s %s", o->name,
			 o->value ? o->value : "");
		printf("  %-20s %s\n", left, o->help);
	}
}

static void usage(void)
{
	printf("usage: skep-bench BENCHMARK [OPTION…]\n"
	       "       skep-bench all [OPTION…]\n"
	       "       skep-bench compare A.json B.json\n"
	       "       skep-bench peers\n"
	       "       skep-bench list\n\nBenchmarks:\n");
	list_benches();
	printf("\nOptions of every benchmark:\n");
	print_options(common);
	printf("\n`skep-bench BENCHMARK --help` describes a benchmark.\n");
}

static void help(const struct bench *b)
{
	printf("usage: skep-bench %s [OPTION…]\n\n%s\n\nOptions:\n", b->name,
	       b->about);
	print_options(b->options);
	print_options(common);
	printf("\nDefaults: --seconds %g --rounds %d\n", b->seconds, b->rounds);
}

static const struct bench_option *known(const struct bench_option *o,
					const char *name)
{
	for (; o && o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

static int read_seconds(const char *text, double *out, struct err *e)
{
	char *end;

	*out = strtod(text, &end);
	if (*text && !*end && *out >= 0.01 && *out <= 3600)
		return 0;
	return err_set(e, ERR_USAGE,
		       "--seconds: '%s' is not a number from 0.01 to 3600",
		       quoted(text).text);
}

static int take_common(struct bench_run *r, const char *name, const char *value,
		       struct err *e)
{
	int64_t n = 0;

	if (!strcmp(name, "seconds"))
		return read_seconds(value, &r->seconds, e);
	if (!strcmp(name, "rounds")) {
		if (text_i64("--rounds", value, 1, SAMPLES_MAX, &n, e))
			return -1;
		r->rounds = (int)n;
	} else if (!strcmp(name, "dir"))
		r->dir = value;
	else if (!strcmp(name, "quick"))
		r->quick = true;
	else if (!strcmp(name, "json"))
		r->output = OUTPUT_JSON;
	else if (!strcmp(name, "csv"))
		r->output = OUTPUT_CSV;
	else if (!strcmp(name, "plots"))
		r->plots = value;
	else
		r->report = value;
	return 0;
}

/* One "--name", "--name=value" or "--name value"; returns words used, or -1. */
static int read_option(struct bench_run *r, const struct bench *b, char **argv,
		       struct err *e)
{
	char name[64];
	const char *equals = strchr(argv[0], '=');
	const struct bench_option *c, *own;
	const char *value = equals ? equals + 1 : argv[1];
	int used;

	snprintf(name, sizeof name, "%.*s",
		 equals ? (int)(equals - argv[0]) - 2 : 60, argv[0] + 2);
	c = known(common, name);
	own = known(b ? b->options : NULL, name);
	if (strncmp(argv[0], "--", 2) != 0 || (!c && !own))
		return err_set(e, ERR_USAGE, "unknown option '%s'; see --help",
			       quoted(argv[0]).text);
	used = (c ? c : own)->value && !equals ? 2 : 1;
	if (used == 2 && !value)
		return err_set(e, ERR_USAGE, "--%s needs a value", name);
	if (c)
		return take_common(r, name, value, e) ? -1 : used;
	if (r->noptions + 2 > sizeof r->options / sizeof r->options[0])
		return err_set(e, ERR_USAGE, "too many options");
	r->options[r->noptions++] = own->name;
	r->options[r->noptions++] = own->value ? value : "";
	return used;
}

static int read_options(struct bench_run *r, const struct bench *b, int argc,
			char **argv, struct err *e)
{
	for (int i = 0; i < argc;) {
		int used = read_option(r, b, argv + i, e);

		if (used < 0)
			return -1;
		i += used;
	}
	return 0;
}

static int run_one(struct bench_run *r, const struct bench *b, struct err *e)
{
	struct kept *k = arena_alloc(&r->arena, sizeof *k);

	*k = (struct kept){.bench = b};
	k->metrics_end = &k->metrics;
	k->notes_end = &k->notes;
	k->tables_end = &k->tables;
	k->plots_end = &k->plots;
	*r->kept_end = k;
	r->kept_end = &k->next;
	r->now = k;
	r->bench = b;
	r->noisy = r->env.load > 1;
	if (b->run(r, e))
		return err_wrap(e, "%s", b->name);
	progress_clear(r);
	if (r->noisy && !r->quick)
		bench_print(
			r,
			"The machine is noisy (load %.1f per core before "
			"the start, or rounds that differ by more than "
			"%.0f %%): believe the ratios of this run more than "
			"its absolute figures.",
			r->env.load, NOISE * 100);
	if (bench_stopped(r))
		bench_print(r, "Stopped before the end: these are the figures "
			       "of the rounds that were finished.");
	output_finish(r);
	return 0;
}

static int run_all(struct bench_run *r, const struct bench *only, struct err *e)
{
	int rc = 0;

	env_read(&r->env, r->dir, &r->arena);
	stop_on_signals();
	for (size_t i = 0; i < NBENCHES && !rc && !bench_stopped(r); i++)
		if (!only || benches[i] == only)
			rc = run_one(r, benches[i], e);
	if (r->report && !rc)
		rc = report_write(r, e);
	if (r->plots && !rc)
		rc = report_plots(r, e);
	if (r->work[0])
		bench_dir_remove(r, r->work);
	return rc;
}

static int wants_help(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return 1;
	return 0;
}

static const char *names(void)
{
	return ""
#define BENCH(name) " " #name
#include "bench/benches.def"
#undef BENCH
	       " all";
}

static int bench_command(const char *name, int argc, char **argv, struct err *e)
{
	const struct bench *b = find_bench(name);
	struct bench_run r = {.dir = ".", .seconds = 0};
	int rc;

	if (!b && strcmp(name, "all") != 0)
		return err_set(
			e, ERR_USAGE,
			"there is no benchmark '%s'; the benchmarks are:%s",
			quoted(name).text, names());
	if (b && wants_help(argc, argv)) {
		help(b);
		return 0;
	}
	r.kept_end = &r.kept;
	rc = read_options(&r, b, argc, argv, e);
	if (!rc)
		rc = run_all(&r, b, e);
	arena_fini(&r.arena);
	return rc;
}

static int dispatch(int argc, char **argv, struct err *e)
{
	const char *name = argc > 1 ? argv[1] : "--help";

	if (!strcmp(name, "--version")) {
		printf("skep-bench %s\n", SKEP_VERSION);
	} else if (name[0] == '-' || !strcmp(name, "help")) {
		usage();
		return argc > 1 ? 0 : 1;
	} else if (!strcasecmp(name, "list")) {
		list_benches();
	} else if (!strcmp(name, "compare")) {
		return compare_command(argc - 2, argv + 2, e);
	} else if (!strcmp(name, "peers")) {
		return peers_command(argc - 2, argv + 2, e);
	} else {
		return bench_command(name, argc - 2, argv + 2, e);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct err e = {0};
	int rc = dispatch(argc, argv, &e);

	if (rc < 0) {
		(void)fprintf(stderr, "skep-bench: %s\n", e.text);
		return err_exit_status(e.code);
	}
	return rc ? err_exit_status(ERR_USAGE) : 0;
}
