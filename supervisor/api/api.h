#ifndef SUPERVISOR_API_API_H
#define SUPERVISOR_API_API_H

#include "lib/base/err.h"
#include "supervisor/core/commands.h"

#include <uv.h>

/*
 * The HTTP interface of skepd: routes over supervisor/core/commands.h, event
 * streams over the rows of agent files. It asks, it never decides. On the unix
 * socket of the home, and on TCP if the configuration says so.
 */
struct api;

/* Borrows sup for good. */
int api_open(struct api **out, struct supervisor *sup, uv_loop_t *loop,
	     struct err *e);

/* No more requests; streams are cut, so that followers come again. Before the
 * loop ends; then api_close frees. */
void api_stop(struct api *w);
void api_close(struct api *w); /* NULL is fine */

#endif
