#include "supervisor/channel/lookup.h"
#include "supervisor/channel/internal.h"

#include "schema/control/channel/channel_delete.h"

#include <string.h>

struct channel *channel_accepting(struct supervisor *s, const char *name)
{
	struct channel *c = s->channels ? s->channels->first : NULL;
	struct channel_row row;
	struct arena a = {0};
	struct err e;

	while (c && strcmp(c->name, name) != 0)
		c = c->next;
	if (c && c->draining &&
	    (channels_get(s->db, name, &row, &a, &e) || !row.is_enabled))
		c = NULL;
	arena_fini(&a);
	return c;
}

int channel_closed(struct supervisor *s, const char *name, struct err *e)
{
	struct channel_row row;
	struct arena a = {0};
	int rc = channels_get(s->db, name, &row, &a, e);

	if (rc == 0)
		rc = channel_check_not_deleting(&row, e);
	if (rc == 0 && !row.is_enabled)
		rc = err_set(e, ERR_CONFLICT,
			     "channel '%s' is disabled; 'skep channel "
			     "enable %s' enables it",
			     name, name);
	else if (rc == 0 && row.state && !strcmp(row.state, "failed"))
		rc = err_set(e, ERR_CONFLICT, "channel '%s' is not usable: %s",
			     name,
			     row.last_error ? row.last_error : "it failed");
	else if (rc == 0)
		rc = err_set(e, ERR_BUSY,
			     "channel '%s' is being opened; try again", name);
	arena_fini(&a);
	return rc;
}

int channel_settings(struct supervisor *s, const char *name,
		     struct channel_config *out, struct arena *a, struct err *e)
{
	const struct channel *c = channel_find(s, name);
	struct channel_row row;
	struct err why;
	int found;

	if (c) {
		*out = c->config;
		return 1;
	}
	found = sql_get(s->db, Q_CHANNEL_GET, &(struct channel_get_in){name},
			&row, a, e);
	if (found == 1 &&
	    channel_config_read(out, row.kind, row.config, a, &why))
		found = 0; /* last_error contains the reason */
	return found;
}

int channel_fill(struct supervisor *s, struct delivery_new *d, struct arena *a,
		 struct err *e)
{
	struct channel_config config;
	int found = channel_settings(s, d->channel, &config, a, e);

	d->ordering_key = d->conversation;
	d->max_age_ms = OPT_NONE;
	if (found != 1)
		return found;
	if (config.age)
		d->max_age_ms = config.age;
	if (!strcmp(config.order, "none"))
		d->ordering_key = NULL;
	else if (!strcmp(config.order, "channel"))
		d->ordering_key = d->channel;
	return 0;
}
