#ifndef SUPERVISOR_API_API_H
#define SUPERVISOR_API_API_H

#include "lib/base/err.h"
#include "supervisor/core/commands.h"

#include <uv.h>

/*
 * The HTTP interface of skepd: routes over supervisor/core/commands.h, event streams over
 * the rows of agent files. It asks, it never decides. On the unix socket of the
 * home, and on TCP if the configuration says so.
 */
struct web;

/* Borrows sup for good. */
int web_open(struct web **out, struct supervisor *sup, uv_loop_t *loop,
	     struct err *e);

/* No more requests; streams are cut, so that followers come again. Before the
 * loop ends; then web_close frees. */
void web_stop(struct web *w);
void web_close(struct web *w); /* NULL is fine */

int web_port(const struct web *w); /* of TCP; 0: none */

#endif
