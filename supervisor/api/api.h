#ifndef SUPERVISOR_API_API_H
#define SUPERVISOR_API_API_H

#include "lib/base/err.h"
#include "supervisor/core/commands.h"

#include <uv.h>

/*
 * The HTTP interface of skepd, on the Unix socket of the home and on TCP if
 * configured: routes that call the commands of supervisor/core/commands.h, and
 * event streams over the rows of agent files.
 */
struct api;

/* Borrows sup until api_close. */
int api_open(struct api **out, struct supervisor *sup, uv_loop_t *loop,
	     struct err *e);

/* Stops accepting requests and closes streams, so that clients connect again.
 * Call it before the loop ends, and api_close after it. */
void api_stop(struct api *w);
void api_close(struct api *w); /* accepts NULL */

#endif
