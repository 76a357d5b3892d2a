#ifndef SCHEMA_DRIVER_CONFIG_H
#define SCHEMA_DRIVER_CONFIG_H

#include "lib/base/err.h"
#include "lib/json/json.h"

/* The settings of drivers and their values (schema/driver_config.def). A
 * definition is checked when it is stored, and again by the worker. */
bool driver_config_has(const char *driver, const char *name);

/* ERR_INVALID if the config is not an object, or for the first member that is
 * unknown (the nearest known one is suggested) or has an invalid value (the
 * error says what is valid). */
int driver_config_check(const char *driver, const cJSON *config, struct err *e);

#endif
