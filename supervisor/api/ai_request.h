#ifndef SUPERVISOR_API_AI_REQUEST_H
#define SUPERVISOR_API_AI_REQUEST_H

#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

/* A request of an AI SDK chat as a run request. */
struct ai_run_request {
	struct run_request request;
	struct buf prompt;
	struct buf files; /* attachments of the run, as JSON */
};

/* q->key is the chat, q->filter[0] the agent; out->ask has the defaults, and
 * borrows from out. */
int ai_request_read(struct api_request *q, const cJSON *body, const cJSON *last,
		    struct ai_run_request *out, struct err *e);
void ai_request_free(struct ai_run_request *w);

/* The client's id of the message whose prompt has this key; NULL: it is not a
 * message of the chat. */
const char *ai_message_id(const char *chat, const char *key);

#endif
