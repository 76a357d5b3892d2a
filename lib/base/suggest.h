#ifndef LIB_BASE_SUGGEST_H
#define LIB_BASE_SUGGEST_H

/* "Did you mean": the candidate that is most similar to `word`. */
struct suggestion {
	const char *word;
	const char *best;
	unsigned distance;
};

void suggest_begin(struct suggestion *n, const char *word);
void suggest_candidate(struct suggestion *n, const char *candidate);
const char *suggest_end(const struct suggestion *n); /* or NULL */

#endif
