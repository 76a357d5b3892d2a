#ifndef LIB_BASE_FAULT_H
#define LIB_BASE_FAULT_H

#include "lib/base/err.h"
#include "lib/base/fault_switch.h" /* generated: defines SKEP_FAULTS or not */

/*
 * Named fault points. In a build with SKEP_FAULTS the environment states which
 * point fails, and how:
 *
 *   SKEP_FAULT=append_before_commit:kill       die by SIGKILL the first time
 *   SKEP_FAULT=append_before_commit:error:3    fail (ERR_IO) the third time
 *   SKEP_FAULT=append_before_commit:stall      sleep until killed
 *   SKEP_FAULT=append_before_commit:stall500   sleep 500 ms, then continue
 *   SKEP_FAULT=skepd/NAME:kill                 only in the program skepd
 *
 * In any other build the calls compile to nothing.
 */
enum fault {
#define FAULT(name, where) FAULT_##name,
#include "lib/base/fault.def"
#undef FAULT
	FAULT_COUNT
};

#ifdef SKEP_FAULTS
int fault_point(enum fault f, struct err *e); /* 0, or -1 with ERR_IO */
#else
static inline int fault_point(enum fault f, struct err *e)
{
	(void)f;
	(void)e;
	return 0;
}
#endif

#endif
