#include "worker/driver.h"

#include "base/text.h"

#include <string.h>

enum {
#define DRIVER(name) DRIVER_##name,
#include "worker/drivers.def"
#undef DRIVER
	DRIVERS
};

static const struct driver *const drivers[DRIVERS] = {
#define DRIVER(name) &driver_##name,
#include "worker/drivers.def"
#undef DRIVER
};

const struct driver *driver_find(const char *name, struct err *e)
{
	static const char known[] = ""
#define DRIVER(name) " " #name
#include "worker/drivers.def"
#undef DRIVER
		;

	for (size_t i = 0; i < DRIVERS; i++)
		if (strcmp(drivers[i]->name, name) == 0)
			return drivers[i];
	err_set(e, ERR_INVALID, "there is no driver %s; known are%s",
		quoted(name).text, known);
	return NULL;
}
