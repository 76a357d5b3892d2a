#ifndef SUPERVISOR_API_OPENAI_RESPONSE_ID_H
#define SUPERVISOR_API_OPENAI_RESPONSE_ID_H

#include "lib/base/err.h"
#include "lib/base/id.h"

/* The id of a response is that of its run with another prefix: run_X and
 * resp_X. */

#define OPENAI_ID_SIZE (ID_SIZE + 1)

const char *openai_response_id(const char *run, char out[OPENAI_ID_SIZE]);

/* ERR_NOTFOUND if it cannot be the id of a response. */
int openai_response_run(const char *response, char out[ID_SIZE], struct err *e);

#endif
