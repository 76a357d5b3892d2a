#ifndef SUPERVISOR_CORE_CLOCK_CHANGE_H
#define SUPERVISOR_CORE_CLOCK_CHANGE_H

#include "supervisor/core/supervisor.h"

/*
 * Deadlines do not depend on the system's clock. skepd's own clock counts on
 * from boot. When the system's clock was set, all deadlines in rows and memory
 * are moved by the difference in one commit, and skepd's clock follows. The
 * offset is kept with the boot's id, so that a clock that was set while no
 * supervisor ran is noticed too. Over a reboot the system's clock is trusted.
 */
int clock_change_open(struct supervisor *s,
		      struct err *e); /* before any deadline is read */
void clock_change_check(struct supervisor *s);

#endif
