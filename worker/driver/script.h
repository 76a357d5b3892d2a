#ifndef WORKER_DRIVER_SCRIPT_H
#define WORKER_DRIVER_SCRIPT_H

#include "lib/base/err.h"
#include "lib/json/json.h"

/* ERR_INVALID for invalid steps: not an array, or a step without an action. */
int script_check(const cJSON *steps, struct err *e);

#endif
