#ifndef WORKER_DRIVER_SCRIPT_H
#define WORKER_DRIVER_SCRIPT_H

#include "lib/base/err.h"
#include "lib/json/json.h"

/* ERR_INVALID for steps that a script cannot be: no array, or a step that names
 * nothing to do. */
int script_check(const cJSON *steps, struct err *e);

#endif
