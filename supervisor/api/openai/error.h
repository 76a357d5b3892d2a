#ifndef SUPERVISOR_API_OPENAI_ERROR_H
#define SUPERVISOR_API_OPENAI_ERROR_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* Errors as clients of OpenAI expect them: {"error": {…}}. */

void openai_error_add(struct buf *out, const char *type, const char *code,
		      const char *message);

/* The body of an error response to a request for this path; false if the path
 * is not one of /openai. */
bool openai_error_body(const char *path, const struct err *e, struct buf *out);

#endif
