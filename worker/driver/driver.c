#include "worker/driver/driver.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

enum {
#define DRIVER(name) DRIVER_##name,
#include "worker/driver/drivers.def"
#undef DRIVER
	DRIVERS
};

static const struct driver *const drivers[DRIVERS] = {
#define DRIVER(name) &driver_##name,
#include "worker/driver/drivers.def"
#undef DRIVER
};

static const struct driver *linked;

void run_end_set(struct run_end *end, enum reason reason, const char *fmt,
		 va_list ap)
{
	end->reason = reason;
	if (vsnprintf(end->detail, sizeof end->detail, fmt, ap) >=
	    (int)sizeof end->detail)
		text_mark_cut(end->detail, sizeof end->detail);
}

void driver_link(const struct driver *d)
{
	linked = d;
}

const char *driver_program(const char *name)
{
	static const char *const names[] = {
#define DRIVER(name)
#define DRIVER_PROGRAM(name) #name,
#include "worker/driver/drivers.def"
#undef DRIVER
#undef DRIVER_PROGRAM
	};

	if (linked && strcmp(linked->name, name) == 0)
		return NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return names[i];
	return NULL;
}

const struct driver *driver_find(const char *name, struct err *e)
{
	static const char known[] = ""
#define DRIVER(name)         " " #name
#define DRIVER_PROGRAM(name) " " #name
#include "worker/driver/drivers.def"
#undef DRIVER
#undef DRIVER_PROGRAM
		;

	if (linked && strcmp(linked->name, name) == 0)
		return linked;

	for (size_t i = 0; i < DRIVERS; i++)
		if (strcmp(drivers[i]->name, name) == 0)
			return drivers[i];
	err_set(e, ERR_INVALID, "unknown driver %s; the drivers are%s",
		quoted(name).text, known);
	return NULL;
}
