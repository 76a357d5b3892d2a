/* skep-bench compare A.json B.json: what changed between two runs, and whether
 * the difference is more than chance. */
#include "bench/harness.h"
#include "lib/json/json.h"
#include "lib/os/file.h"

#include <stdio.h>
#include <string.h>

#define LINES_MAX 4096
#define SURE      0.05 /* below it a difference counts as real */

struct line {
	cJSON *json;
	char key[160];
	struct samples samples;
};

struct lines {
	struct line *v;
	size_t n;
};

static void read_samples(struct line *l)
{
	const cJSON *s = cJSON_GetObjectItem(l->json, "samples"), *v;

	cJSON_ArrayForEach(v, s) samples_add(&l->samples, v->valuedouble);
	if (l->samples.n == 0) {
		v = cJSON_GetObjectItem(l->json, "value");
		samples_add(&l->samples, v ? v->valuedouble : 0);
	}
}

static int read_line(const char *path, const char *text, size_t n,
		     struct line *out, struct err *e)
{
	const char *bench, *metric, *against;

	*out = (struct line){.json = json_parse_object(path, text, n, e)};
	if (!out->json)
		return -1;
	bench = json_text(out->json, "bench", NULL);
	metric = json_text(out->json, "metric", NULL);
	against = json_text(out->json, "against", NULL);
	if (!bench || !metric)
		return err_set(e, ERR_INVALID,
			       "%s: a line is not of skep-bench --json", path);
	snprintf(out->key, sizeof out->key, "%.40s %.60s%s%.40s", bench, metric,
		 against ? " / " : "", against ? against : "");
	read_samples(out);
	return 0;
}

static int read_lines(const char *path, struct arena *a, struct lines *out,
		      struct err *e)
{
	struct buf b = BUF_MAX(64u << 20);
	int rc = file_read(path, &b, e);

	out->v = arena_alloc(a, LINES_MAX * sizeof out->v[0]);
	for (const char *at = b.p; !rc && *at && out->n < LINES_MAX;) {
		size_t n = strcspn(at, "\n");

		if (n > 0)
			rc = read_line(path, at, n, &out->v[out->n++], e);
		at += n + (at[n] == '\n');
	}
	buf_fini(&b);
	return rc;
}

static void free_lines(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		cJSON_Delete(l->v[i].json);
}

static const struct line *find_same_line(const struct lines *in,
					 const struct line *l)
{
	for (size_t i = 0; i < in->n; i++)
		if (!strcmp(in->v[i].key, l->key))
			return &in->v[i];
	return NULL;
}

static void print_pair(const struct line *a, const struct line *b)
{
	double was = samples_median(&a->samples);
	double is = samples_median(&b->samples);
	double p = samples_p_same(&a->samples, &b->samples);
	bool less = json_bool(a->json, "less_is_better", false);
	double better = was > 0 && is > 0 ? (less ? was / is : is / was) : 1;
	const char *word = "no significant difference";

	if (a->samples.n < 4 || b->samples.n < 4)
		word = "too few rounds to compare";
	else if (p < SURE)
		word = better > 1 ? "better" : "worse";
	printf("  %-44s %12.5g %12.5g %7.2f×  p=%.3f  %s\n", a->key, was, is,
	       better, p, word);
}

int compare_command(int argc, char **argv, struct err *e)
{
	struct lines a = {0}, b = {0};
	struct arena mem = {0};
	int rc;

	if (argc != 2)
		return err_set(e, ERR_USAGE,
			       "compare needs two files of skep-bench --json");
	rc = read_lines(argv[0], &mem, &a, e);
	if (!rc)
		rc = read_lines(argv[1], &mem, &b, e);
	if (!rc)
		printf("  %-44s %12s %12s %8s\n", "metric", "A", "B", "B is");
	for (size_t i = 0; !rc && i < a.n; i++) {
		const struct line *other = find_same_line(&b, &a.v[i]);

		if (other)
			print_pair(&a.v[i], other);
		else
			printf("  %-44s only in %s\n", a.v[i].key, argv[0]);
	}
	free_lines(&a);
	free_lines(&b);
	arena_fini(&mem);
	return rc;
}
