#ifndef SUPERVISOR_API_BODY_H
#define SUPERVISOR_API_BODY_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"
#include "lib/http/http.h"

/* Reads the body of a request, whose members are declared in inputs.def and
 * have been checked, into the struct of a shape. Members that are absent or null
 * leave what is in obj. Texts go to the arena. */
int api_body(const struct http_request *r, const struct shape *s, void *obj,
	     struct arena *a, struct err *e);

#endif
