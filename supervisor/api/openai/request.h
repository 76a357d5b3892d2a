#ifndef SUPERVISOR_API_OPENAI_REQUEST_H
#define SUPERVISOR_API_OPENAI_REQUEST_H

#include "supervisor/api/request.h"

/*
 * A chat completion or a response that a client asks for, as a request for a
 * run. The last message of the user is the prompt, and its files are
 * attachments. Instructions and earlier messages precede it in the prompt,
 * unless the session has them already.
 */
struct openai_request {
	struct run_request run; /* borrows from the rest and from q */
	struct buf prompt;
	struct buf files; /* attachments of the run, as JSON */
	bool is_stream, shows_usage, shows_activity, is_background;
};

/* Both must be freed, also on failure. */
int openai_chat_read(struct api_request *q, const cJSON *body,
		     struct openai_request *out, struct err *e);
int openai_response_read(struct api_request *q, const cJSON *body,
			 struct openai_request *out, struct err *e);
void openai_request_free(struct openai_request *r);

#endif
