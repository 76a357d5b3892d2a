#ifndef SUPERVISOR_API_OPENAI_ANSWER_H
#define SUPERVISOR_API_OPENAI_ANSWER_H

#include "supervisor/api/openai/writer.h"
#include "supervisor/api/request.h"

/*
 * Answers a request without a stream. The text of the run is read from the agent
 * file, in a thread.
 */

/* After the run has ended. Takes q and the writer. */
void openai_answer_wait(struct api_request *q, struct openai_writer *w);

/* At once: what the run has written so far. Takes q and the writer. */
void openai_answer_now(struct api_request *q, struct openai_writer *w);

/* Checks waiting requests: hints may be lost. */
void openai_answer_tick(struct api *a);
/* skepd stops: fails waiting requests. */
void openai_answer_stop(struct api *a);

#endif
