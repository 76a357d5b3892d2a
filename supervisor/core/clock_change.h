#ifndef SUPERVISOR_CORE_CLOCK_CHANGE_H
#define SUPERVISOR_CORE_CLOCK_CHANGE_H

#include "supervisor/core/supervisor.h"

/*
 * Keeps deadlines independent of changes of the system clock. skepd's own clock
 * continues from boot. When the system clock was set, all deadlines in rows and
 * memory are moved by the difference in one commit, and skepd's clock follows.
 * The offset is stored with the boot id, so that a change while no supervisor
 * ran is noticed too. After a reboot the system clock is trusted.
 */
/* Call it before any deadline is read. */
int clock_change_open(struct supervisor *s, struct err *e);
void clock_change_check(struct supervisor *s);

#endif
