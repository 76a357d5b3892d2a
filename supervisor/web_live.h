#ifndef SUPERVISOR_WEB_LIVE_H
#define SUPERVISOR_WEB_LIVE_H

#include "supervisor/api.h"

/* Says of a run's row how it is: what the row says, and what skepd knows of its
 * worker. */
void web_judge(struct sup *s, struct run_row *row);

#endif
