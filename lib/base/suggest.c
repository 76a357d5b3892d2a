/* The candidate with the fewest typing errors. */
#include "lib/base/suggest.h"

#include <string.h>

#define WORD_MAX 32

static unsigned min2(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that turn a into
 * b (optimal string alignment). */
static unsigned distance(const char *a, const char *b)
{
	unsigned d[WORD_MAX + 1][WORD_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (unsigned i = 0; i <= n; i++)
		d[i][0] = i;
	for (unsigned j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			d[i][j] = min2(min2(d[i - 1][j], d[i][j - 1]) + 1,
				       d[i - 1][j - 1] +
					       (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = min2(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[n][m];
}

void suggest_begin(struct suggestion *n, const char *word)
{
	*n = (struct suggestion){.word = word, .distance = WORD_MAX};
}

void suggest_candidate(struct suggestion *n, const char *candidate)
{
	size_t len = strlen(n->word);
	unsigned d = distance(n->word, candidate);

	if (len >= 2 && !strncmp(n->word, candidate, len))
		d = 1; /* a prefix is an abbreviation, not a typo */
	if (d < n->distance) {
		n->distance = d;
		n->best = candidate;
	}
}

const char *suggest_end(const struct suggestion *n)
{
	size_t len = strlen(n->word);

	return n->distance <= (len < 4 ? 1 : len < 8 ? 2 : 3) ? n->best : NULL;
}
