#ifndef SUPERVISOR_WEB_BODY_H
#define SUPERVISOR_WEB_BODY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/shape.h"
#include "http/http.h"

/* Reads the body of a request, whose members are declared in web_inputs.def and
 * have been checked, into the struct of a shape. Members that are absent or null
 * leave what is in obj. Texts go to the arena. */
int web_body(const struct http_request *r, const struct shape *s, void *obj,
	     struct arena *a, struct err *e);

#endif
