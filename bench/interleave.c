/* Runs cases in rounds, one after the other, so that other load affects all of
 * them alike. */
#include "bench/harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int64_t bytes_written(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	char line[128];
	int64_t n = 0;

	while (f && fgets(line, sizeof line, f))
		(void)sscanf(line, "write_bytes: %" SCNd64, &n);
	if (f)
		(void)fclose(f);
	return n;
}

struct usage bench_usage(void)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	struct usage u = {.written = bytes_written()};

	for (int i = 0; i < 2; i++) {
		struct rusage r;

		getrusage(whose[i], &r);
		u.cpu_s += seconds_of(r.ru_utime) + seconds_of(r.ru_stime);
		u.switches += r.ru_nvcsw + r.ru_nivcsw;
	}
	return u;
}

struct usage bench_usage_since(struct usage was)
{
	struct usage now = bench_usage();

	return (struct usage){now.cpu_s - was.cpu_s,
			      now.switches - was.switches,
			      now.written - was.written};
}

static void add_sample(struct bench_result *to, const struct bench_sample *s)
{
	samples_add(&to->values, s->value);
	if (s->wait.n > 0)
		samples_add(&to->p99_us,
			    (double)histogram_at(&s->wait, 0.99) / 1e3);
	histogram_merge(&to->wait, &s->wait);
	for (size_t i = 0; i < 4; i++)
		samples_add(&to->more[i], s->more[i]);
	to->operations += s->operations;
	to->usage.cpu_s += s->usage.cpu_s;
	to->usage.switches += s->usage.switches;
	to->usage.written += s->usage.written;
}

/* 0, or -1; a case that is not supported here is marked and reported. */
static int measure_case(struct bench_run *r, const struct bench_case *c,
			struct bench_result *to, bool warm_up, struct err *e)
{
	struct bench_sample *s = calloc(1, sizeof *s);
	struct usage before = bench_usage();
	int rc;

	if (!s)
		abort();
	rc = c->measure(r, c->arg, s, e);
	s->usage = bench_usage_since(before);
	if (rc && e->code == ERR_UNSUPPORTED) {
		to->skipped = true;
		bench_print(r, "%s was left out: %s.", c->name, e->text);
		rc = 0;
	} else if (!rc && !warm_up && !bench_stopped(r)) {
		add_sample(to, s);
	}
	free(s);
	return rc ? err_wrap(e, "%s", c->name) : 0;
}

static void print_usage(struct bench_run *r, const struct bench_result *res,
			size_t n)
{
	const char *title = "what all rounds took, getting ready and reading "
			    "back included";

	bench_table(r, title, "case|CPU s|context switches|MB to the disk");
	for (size_t i = 0; i < n; i++)
		if (res[i].values.n > 0)
			bench_table(r, title, "%s|%.2f|%" PRId64 "|%.1f",
				    res[i].name, res[i].usage.cpu_s,
				    res[i].usage.switches,
				    (double)res[i].usage.written / 1e6);
}

int bench_interleave(struct bench_run *r, const struct bench_case *cases,
		     size_t n, struct bench_result *results, struct err *e)
{
	size_t rounds = (size_t)bench_rounds(r) + 1, done = 0;

	for (size_t i = 0; i < n; i++)
		results[i] = (struct bench_result){.name = cases[i].name};
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < n; i++, done++) {
			size_t k = (i + round) % n; /* the order rotates */

			bench_progress(r, cases[k].name, (double)done,
				       (double)(rounds * n));
			if (bench_stopped(r) || results[k].skipped)
				continue;
			if (measure_case(r, &cases[k], &results[k], round == 0,
					 e)) {
				progress_clear(r);
				return -1;
			}
		}
	progress_clear(r);
	print_usage(r, results, n);
	return 0;
}
