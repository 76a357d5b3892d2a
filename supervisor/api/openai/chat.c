/* Chat completions: a request is a run of the agent that it names as its
 * model. The run continues if the client disconnects. */
#include "supervisor/api/openai/answer.h"
#include "supervisor/api/openai/request.h"
#include "supervisor/api/openai/run_answer.h"
#include "supervisor/api/routes.h"

void route_openai_chat(struct api_request *q, const cJSON *body)
{
	struct openai_request r;
	struct err e = {0};
	int rc = openai_chat_read(q, body, &r, &e);

	if (rc == 0)
		rc = openai_run_submit(q, &r, &openai_chat_format, &e);
	openai_request_free(&r);
	request_command(q, rc, &e);
}
