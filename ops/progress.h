#ifndef OPS_PROGRESS_H
#define OPS_PROGRESS_H

#include <stdint.h>

/* Receives the progress of long operations. at NULL: not used. */
struct ops_progress {
	void (*at)(void *arg, int64_t done, int64_t total);
	void *arg;
};

static inline void ops_progress_report(const struct ops_progress *t,
				       int64_t done, int64_t total)
{
	if (t->at)
		t->at(t->arg, done, total);
}

#endif
