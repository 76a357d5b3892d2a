#ifndef SUPERVISOR_API_PS_H
#define SUPERVISOR_API_PS_H

#include "supervisor/core/commands.h"

/* Sets health and severity of a run from its row and from what skepd knows
 * about its worker. */
void api_assess_run(struct supervisor *s, struct run_row *row);

#endif
