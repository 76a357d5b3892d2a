#ifndef BENCH_LOAD_MOCK_LLM_H
#define BENCH_LOAD_MOCK_LLM_H

#include "lib/base/err.h"

#include <stdint.h>

/*
 * A model's server that needs no model: each request is answered by a stream of
 * chat completions with as many words, one after each pause. A thread for each
 * connection, which ends with the answer.
 */
struct mock_llm;

int mock_llm_open(struct mock_llm **out, int words, int pause_ms,
		  struct err *e);
void mock_llm_close(struct mock_llm *t);
int mock_llm_port(const struct mock_llm *t);
int64_t mock_llm_streams(
	const struct mock_llm *t); /* streams that are open now */

#endif
