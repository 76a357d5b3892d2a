#ifndef BENCH_LOAD_TALKER_H
#define BENCH_LOAD_TALKER_H

#include "lib/base/err.h"

#include <stdint.h>

/*
 * A model's server that needs no model: each request is answered by a stream of
 * chat completions with as many words, one after each pause. A thread for each
 * connection, which ends with the answer.
 */
struct talker;

int talker_open(struct talker **out, int words, int pause_ms, struct err *e);
void talker_close(struct talker *t);
int talker_port(const struct talker *t);
int64_t talker_talking(const struct talker *t); /* streams that are open now */

#endif
