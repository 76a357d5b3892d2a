#ifndef LIB_REPORT_STATS_H
#define LIB_REPORT_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Statistics of measurements. A histogram holds times from 1 ns to hours with a
 * resolution of 1/32 of a power of two (3 %). It is a plain struct that
 * processes can share; all zero is empty. Samples are the few values of the
 * rounds.
 */
#define HISTOGRAM_SUB     32
#define HISTOGRAM_BUCKETS (HISTOGRAM_SUB * 42)

struct histogram {
	uint64_t count[HISTOGRAM_BUCKETS];
	uint64_t n;
	int64_t max;
	double sum;
};

void histogram_add(struct histogram *h, int64_t ns);
void histogram_merge(struct histogram *to, const struct histogram *from);
int64_t histogram_at(const struct histogram *h, double quantile); /* ns */

/* Calls point for each bucket in use: its time and the share up to it. */
void histogram_walk(const struct histogram *h,
		    void (*point)(void *arg, int64_t ns, double share),
		    void *arg);

#define SAMPLES_MAX 64

struct samples {
	double v[SAMPLES_MAX];
	size_t n;
};

void samples_add(struct samples *s, double v); /* the newest are dropped at
					        * MAX */
double samples_median(const struct samples *s);

/* Half of the interquartile range, in the unit of the values. */
double samples_spread(const struct samples *s);

/* The probability that samples of one source differ as much in their sums. All
 * permutations of the values are tried (or 20,000 at random). 0…1. */
double samples_p_same(const struct samples *a, const struct samples *b);

#endif
