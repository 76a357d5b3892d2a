#ifndef SCHEMA_DRIVER_CONFIG_H
#define SCHEMA_DRIVER_CONFIG_H

#include "lib/base/err.h"
#include "lib/json/json.h"

/* The names of driver settings (schema/driver_config.def). A definition is
 * checked when it is stored, and again by the worker, which also checks the
 * values. */
bool driver_config_has(const char *driver, const char *name);

/* ERR_INVALID if the config is not an object, or for the first unknown member;
 * it suggests the nearest known one. */
int driver_config_check(const char *driver, const cJSON *config, struct err *e);

#endif
