#include "lib/report/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below 32, one bucket per nanosecond; above, 32 buckets for each doubling. */
static size_t bucket_of(int64_t ns)
{
	uint64_t v = ns > 0 ? (uint64_t)ns : 0;
	int shift;
	size_t i;

	if (v < HISTOGRAM_SUB)
		return (size_t)v;
	shift = 63 - __builtin_clzll(v) - 5;
	i = (size_t)(shift + 1) * HISTOGRAM_SUB +
	    (size_t)(v >> shift) % HISTOGRAM_SUB;
	return i < HISTOGRAM_BUCKETS ? i : HISTOGRAM_BUCKETS - 1;
}

/* The middle of a bucket. */
static int64_t time_of(size_t bucket)
{
	size_t shift = bucket / HISTOGRAM_SUB;
	int64_t low;

	if (shift == 0)
		return (int64_t)bucket;
	shift--;
	low = (int64_t)(HISTOGRAM_SUB + bucket % HISTOGRAM_SUB) << shift;
	return low + ((INT64_C(1) << shift) >> 1);
}

void histogram_add(struct histogram *h, int64_t ns)
{
	h->count[bucket_of(ns)]++;
	h->n++;
	h->sum += (double)ns;
	if (ns > h->max)
		h->max = ns;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->count[i] += from->count[i];
	to->n += from->n;
	to->sum += from->sum;
	if (from->max > to->max)
		to->max = from->max;
}

int64_t histogram_at(const struct histogram *h, double quantile)
{
	double want = quantile * (double)h->n;
	uint64_t seen = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->count[i];
		if (h->count[i] && (double)seen >= want)
			return time_of(i) < h->max ? time_of(i) : h->max;
	}
	return h->max;
}

void histogram_walk(const struct histogram *h,
		    void (*point)(void *arg, int64_t ns, double share),
		    void *arg)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!h->count[i])
			continue;
		seen += h->count[i];
		point(arg, time_of(i), (double)seen / (double)h->n);
	}
}

void samples_add(struct samples *s, double v)
{
	if (s->n < SAMPLES_MAX)
		s->v[s->n++] = v;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double samples_quantile(const struct samples *s, double q)
{
	struct samples sorted = *s;
	double at = q * (double)(s->n > 0 ? s->n - 1 : 0);
	size_t low = (size_t)at;
	size_t high = low + 1 < s->n ? low + 1 : low;

	if (s->n == 0)
		return 0;
	qsort(sorted.v, sorted.n, sizeof sorted.v[0], compare_doubles);
	return sorted.v[low] +
	       (at - (double)low) * (sorted.v[high] - sorted.v[low]);
}

double samples_median(const struct samples *s)
{
	return samples_quantile(s, 0.5);
}

double samples_spread(const struct samples *s)
{
	return (samples_quantile(s, 0.75) - samples_quantile(s, 0.25)) / 2;
}

struct deal {
	double v[2 * SAMPLES_MAX];
	size_t n;
	size_t na;
	double total;
	double seen; /* measured distance between the means */
	uint64_t tried;
	uint64_t as_far;
};

static double mean_distance(const struct deal *d, double sum_a)
{
	double nb = (double)(d->n - d->na);

	return fabs(sum_a / (double)d->na - (d->total - sum_a) / nb);
}

static void count_deal(struct deal *d, double sum_a)
{
	d->tried++;
	if (mean_distance(d, sum_a) >= d->seen * (1 - 1e-12))
		d->as_far++;
}

/* Every choice of na of the n values, by the bits of a counter. */
static void deal_all(struct deal *d)
{
	for (uint32_t mask = 0; mask < 1u << d->n; mask++) {
		double sum = 0;

		if ((size_t)__builtin_popcount(mask) != d->na)
			continue;
		for (size_t i = 0; i < d->n; i++)
			sum += mask >> i & 1 ? d->v[i] : 0;
		count_deal(d, sum);
	}
}

static void deal_at_random(struct deal *d)
{
	uint64_t x = 88172645463325252u; /* xorshift; the same each time */

	for (int t = 0; t < 20000; t++) {
		double sum = 0;

		for (size_t i = 0; i < d->na; i++) {
			size_t k;
			double swap;

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			k = i + (size_t)(x % (d->n - i));
			swap = d->v[i];
			d->v[i] = d->v[k];
			d->v[k] = swap;
			sum += d->v[i];
		}
		count_deal(d, sum);
	}
}

double samples_p_same(const struct samples *a, const struct samples *b)
{
	struct deal d = {.n = a->n + b->n, .na = a->n};
	double sum_a = 0;

	if (a->n == 0 || b->n == 0)
		return 1;
	memcpy(d.v, a->v, a->n * sizeof a->v[0]);
	memcpy(d.v + a->n, b->v, b->n * sizeof b->v[0]);
	for (size_t i = 0; i < d.n; i++)
		d.total += d.v[i];
	for (size_t i = 0; i < a->n; i++)
		sum_a += a->v[i];
	d.seen = mean_distance(&d, sum_a);
	if (d.n <= 16)
		deal_all(&d);
	else
		deal_at_random(&d);
	return (double)d.as_far / (double)d.tried;
}
