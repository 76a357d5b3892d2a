#ifndef SUPERVISOR_API_OPENAI_RUN_ANSWER_H
#define SUPERVISOR_API_OPENAI_RUN_ANSWER_H

#include "supervisor/api/openai/request.h"
#include "supervisor/api/openai/writer.h"

/* Starts the run of a request. After the commit, q is answered with a stream,
 * with the complete answer when the run has ended, or at once if the run is in
 * the background. */
int openai_run_submit(struct api_request *q, const struct openai_request *r,
		      const struct openai_format *format, struct err *e);

/* A writer for a run that exists. */
struct openai_writer *openai_run_writer(const struct run_row *row,
					const struct openai_format *format,
					bool is_stream, bool shows_activity);

#endif
