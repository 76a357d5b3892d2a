#ifndef LIB_HTTP_OPENAPI_H
#define LIB_HTTP_OPENAPI_H

#include "lib/base/buf.h"
#include "lib/http/route.h"

/* Appends the OpenAPI 3.1 document of a route table, as JSON. Schemas come from
 * the shapes of the routes, so they match what is sent. */
void openapi_write(struct buf *out, const struct http_routes *routes,
		   const char *title, const char *version);

#endif
