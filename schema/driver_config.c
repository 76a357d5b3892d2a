#include "schema/driver_config.h"

#include "lib/base/buf.h"
#include "lib/base/suggest.h"
#include "lib/base/text.h"

#include <string.h>

static const struct setting {
	const char *driver, *name;
} settings[] = {
#define DRIVER_CONFIG(driver, name) {#driver, #name},
#include "schema/driver_config.def"
#undef DRIVER_CONFIG
};

#define NSETTINGS (sizeof settings / sizeof settings[0])

bool driver_config_has(const char *driver, const char *name)
{
	for (size_t i = 0; i < NSETTINGS; i++)
		if (!strcmp(settings[i].driver, driver) &&
		    !strcmp(settings[i].name, name))
			return true;
	return false;
}

/* Names the nearest setting, or all of them. */
static int refuse_setting(const char *driver, const char *name, struct err *e)
{
	struct buf all = BUF_MAX(600);
	struct suggestion near;
	const char *meant;

	suggest_begin(&near, name);
	for (size_t i = 0; i < NSETTINGS; i++) {
		if (strcmp(settings[i].driver, driver) != 0)
			continue;
		suggest_candidate(&near, settings[i].name);
		buf_addf(&all, "%s%s", all.n ? ", " : "", settings[i].name);
	}
	meant = suggest_end(&near);
	if (meant)
		err_set(e, ERR_INVALID,
			"%s: unknown setting '%s'; did you mean '%s'?", driver,
			quoted(name).text, meant);
	else
		err_set(e, ERR_INVALID,
			"%s: unknown setting '%s'; the settings are %s", driver,
			quoted(name).text, all.p);
	buf_fini(&all);
	return -1;
}

int driver_config_check(const char *driver, const cJSON *config, struct err *e)
{
	const cJSON *m;

	if (!config)
		return 0;
	if (!cJSON_IsObject(config))
		return err_set(e, ERR_INVALID, "config must be an object");
	cJSON_ArrayForEach(m, config)
	{
		if (!driver_config_has(driver, m->string))
			return refuse_setting(driver, m->string, e);
	}
	return 0;
}
