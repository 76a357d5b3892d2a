#ifndef BENCH_LOAD_MOCK_LLM_H
#define BENCH_LOAD_MOCK_LLM_H

#include "lib/base/err.h"

#include <stdint.h>

/*
 * A server for chat completions without a model: each request is answered by a
 * stream of so many words, with a pause before each. Each connection has a
 * thread, which ends with the answer.
 */
struct mock_llm;

int mock_llm_open(struct mock_llm **out, int words, int pause_ms,
		  struct err *e);
void mock_llm_close(struct mock_llm *t);
int mock_llm_port(const struct mock_llm *t);
int64_t mock_llm_streams(const struct mock_llm *t); /* currently open streams */

#endif
