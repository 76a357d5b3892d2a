#ifndef BENCH_LOAD_SINK_H
#define BENCH_LOAD_SINK_H

#include "lib/base/err.h"

#include <stdint.h>

/*
 * A receiver of webhooks that answers at once: one thread, any number of open
 * connections. A dead one reads everything and never answers.
 */
struct sink;

int sink_open(struct sink **out, bool dead, struct err *e);
void sink_close(struct sink *s);
int sink_port(const struct sink *s);
int64_t sink_count(const struct sink *s); /* requests answered so far */

#endif
