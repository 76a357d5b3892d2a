#ifndef SUPERVISOR_API_PS_H
#define SUPERVISOR_API_PS_H

#include "supervisor/core/commands.h"

/* Says of a run's row how it is: what the row says, and what skepd knows of its
 * worker. */
void api_assess_run(struct supervisor *s, struct run_row *row);

#endif
