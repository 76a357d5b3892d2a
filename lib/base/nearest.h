#ifndef LIB_BASE_NEAREST_H
#define LIB_BASE_NEAREST_H

/* "Did you mean": the candidate that a person most likely meant by `word`. */
struct nearest {
	const char *word;
	const char *best;
	unsigned distance;
};

void nearest_begin(struct nearest *n, const char *word);
void nearest_offer(struct nearest *n, const char *candidate);
const char *nearest_end(const struct nearest *n); /* or NULL */

#endif
