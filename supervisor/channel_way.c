#include "supervisor/channel_way.h"

#include "schema/remove.h"

#include <string.h>

struct channel *channel_taking(struct sup *s, const char *name)
{
	struct channel *c = s->channels ? s->channels->first : NULL;
	struct channel_row row;
	struct arena a = {0};
	struct err e;

	while (c && strcmp(c->name, name) != 0)
		c = c->next;
	if (c && c->leaving &&
	    (channels_get(s->db, name, &row, &a, &e) || !row.is_enabled))
		c = NULL;
	arena_fini(&a);
	return c;
}

int channel_closed(struct sup *s, const char *name, struct err *e)
{
	struct channel_row row;
	struct arena a = {0};
	int rc = channels_get(s->db, name, &row, &a, e);

	if (rc == 0)
		rc = channel_check_stays(&row, e);
	if (rc == 0 && !row.is_enabled)
		rc = err_set(e, ERR_CONFLICT,
			     "channel %s is disabled: 'skep channel enable %s'",
			     name, name);
	else if (rc == 0 && row.state && !strcmp(row.state, "failed"))
		rc = err_set(e, ERR_CONFLICT, "channel %s cannot be used: %s",
			     name, row.trouble ? row.trouble : "it failed");
	else if (rc == 0)
		rc = err_set(e, ERR_BUSY,
			     "channel %s is being opened: try again", name);
	arena_fini(&a);
	return rc;
}
