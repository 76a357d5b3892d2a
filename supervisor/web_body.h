#ifndef SUPERVISOR_WEB_BODY_H
#define SUPERVISOR_WEB_BODY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/shape.h"
#include "http/http.h"

/* Reads a request's body, a JSON object, into the struct of a shape. Members
 * that are not there leave what is in obj; null makes them absent; one that the
 * shape does not have, or of the wrong kind, is ERR_INVALID and named. Texts go
 * to the arena. */
int web_body(const struct http_request *r, const struct shape *s, void *obj,
	     struct arena *a, struct err *e);

#endif
