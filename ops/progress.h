#ifndef OPS_PROGRESS_H
#define OPS_PROGRESS_H

#include <stdint.h>

/* Receives the progress of long operations. at NULL: not wanted. */
struct ops_tell {
	void (*at)(void *arg, int64_t done, int64_t total);
	void *arg;
};

static inline void ops_tell(const struct ops_tell *t, int64_t done,
			    int64_t total)
{
	if (t->at)
		t->at(t->arg, done, total);
}

#endif
