#ifndef SUPERVISOR_API_OPENAI_DELTAS_H
#define SUPERVISOR_API_OPENAI_DELTAS_H

#include "schema/agent/transcript/tail.h"

/*
 * What a run says, in pieces: the text of its answer, and its activity (its
 * reasoning and the names of its tools). The pieces of the text, put together,
 * are the same whenever they are read.
 */
struct openai_deltas {
	void (*text)(void *arg, const char *more);
	void (*activity)(void *arg, const char *more); /* NULL: left out */
	void *arg;
	int64_t text_seq; /* message or output of the last piece; 0: none */
	bool is_output;   /* … it was a line of output */
	bool has_activity;
};

void openai_deltas_item(struct openai_deltas *d, const struct tail_item *item);

#endif
