#ifndef BENCH_CONTENTION_WORKLOAD_H
#define BENCH_CONTENTION_WORKLOAD_H

#include "bench/load/events.h"

/* The operations of one writer: --workload FILE, a small JSON that
 * workload_help shows. */
enum operation {
#define OPERATION(name, what) OPERATION_##name,
#include "bench/contention/operations.def"
#undef OPERATION
	OPERATIONS
};

const char *operation_name(enum operation o);

struct workload {
	struct event_sizes bytes; /* of an event */
	int64_t batch;            /* events per commit */
	int64_t think_us;         /* between two operations */
	int64_t sessions;         /* that a writer uses in turn */
	int64_t mix[OPERATIONS];  /* shares */
};

#define WORKLOAD_DEFAULT                                                     \
	{                                                                    \
		.batch = 1, .sessions = 1, .mix = { [OPERATION_append] = 1 } \
	}

int workload_load(const char *path, struct workload *out, struct err *e);
/* Whether it contains operations other than appends. */
bool workload_is_mixed(const struct workload *w);

/* Selects operations according to their shares, as evenly as possible. Zeroed:
 * new. */
struct op_mix {
	int64_t credit[OPERATIONS];
};

enum operation workload_deal(const struct workload *w, struct op_mix *d);

#endif
