#include "cli/channel/channel_cli.h"

#include "cli/agent/agent_edit.h"
#include "cli/list.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/channel/channel_delete.h"
#include "schema/control/control.h"

#include <ctype.h>
#include <string.h>

const char *url_text(struct cli *cli, const char *text)
{
	struct buf b = BUF_MAX(16384);
	const char *out;

	for (const char *p = text; *p; p++)
		if (isalnum((unsigned char)*p) || strchr("-_.~", *p))
			buf_addc(&b, *p);
		else
			buf_addf(&b, "%%%02X", (unsigned char)*p);
	out = arena_text(&cli->arena, b.p);
	buf_fini(&b);
	return out;
}

void channel_hide_stale_state(const struct cli *cli, struct channel_row *row)
{
	if (cli->supervised ||
	    (row->state && !strcmp(row->state, CHANNEL_DELETING)))
		return;
	row->state = NULL;
	row->pid = OPT_NONE;
}

int channel_print(struct cli *cli, const char *name, struct err *e)
{
	struct channel_row row;

	if (channels_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	channel_hide_stale_state(cli, &row);
	output_object(&cli->out, &channel_row_shape, &row);
	return 0;
}

int channel_print_stored(struct cli *cli, const char *name, const char *verb,
			 struct err *e)
{
	struct channel_row row;

	if (cli->out.json)
		return channel_print(cli, name, e);
	if (channels_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	output_note(&cli->out, "%s channel %s: kind %s%s%s", verb, row.name,
		    row.kind, row.is_enabled ? "" : ", disabled",
		    row.is_paused ? ", paused" : "");
	return 0;
}

struct put {
	const char *name;
	const cJSON *def;
};

static int put_direct(struct cli *cli, void *arg, struct err *e)
{
	const struct put *p = arg;

	return channels_put(cli->control, p->name, p->def, control_actor(), e);
}

int channel_store(struct cli *cli, const char *name, const cJSON *def,
		  struct err *e)
{
	struct put put = {name, def};
	struct buf body = BUF_MAX(CHANNEL_CONFIG_MAX * 2);
	struct cli_act act = {
		.method = "PUT",
		.path = arena_printf(&cli->arena, "/v1/channels/%s", name),
		.direct = put_direct,
		.arg = &put};
	int rc;

	json_add(&body, def);
	act.body = body.p;
	rc = buf_ok(&body, "the definition", e);
	if (rc == 0)
		rc = cli_act(cli, &act, e);
	buf_fini(&body);
	return rc;
}

const char *verb_path(struct cli *cli, enum id_kind kind, const char *what,
		      const char *verb, struct err *e)
{
	const char *id = cli_arg(cli, 0);

	if (id_is(kind, id))
		return arena_printf(&cli->arena, "/v1/%s/%s/%s", what, id,
				    verb);
	err_set(e, ERR_USAGE, "'%s' is not the id of %s (%s_...)",
		quoted(id).text,
		kind == ID_DELIVERY ? "a delivery" : "an inbound message",
		id_prefix(kind));
	return NULL;
}

int print_messages(struct cli *cli, const char *path, const char *none,
		   struct err *e)
{
	cJSON *json = remote_call(cli, "POST", path, "{}", e);
	const cJSON *item, *items = cJSON_GetObjectItem(json, "items");
	struct cli_list l = {
		.cli = cli,
		.shape = &message_row_shape,
		.columns = "id sender room body created_at",
		.none = none,
	};
	struct message_row row;

	if (!json)
		return -1;
	cJSON_ArrayForEach(item, items)
	{
		remote_read(item, &message_row_shape, &row);
		cli_list_add(&l, &row);
	}
	if (l.n || none)
		cli_list_end(&l);
	cJSON_Delete(json);
	return (int)l.n;
}

int address_arg(struct cli *cli, int i, struct address *a, struct err *e)
{
	const char *word = cli_arg(cli, i), *slash = strchr(word, '/');

	*a = (struct address){word, NULL};
	if (slash) {
		a->agent = arena_printf(&cli->arena, "%.*s",
					(int)(slash - word), word);
		a->session = slash + 1;
	}
	return text_check_name("agent", a->agent, e);
}

int check_message_text(const struct buf *text, struct err *e)
{
	if (memchr(text->p, 0, text->n) || !text_is_utf8(text->p, text->n))
		return err_set(e, ERR_INVALID,
			       "the message is not UTF-8 text; send other "
			       "data as an attachment");
	return 0;
}

int channel_settings(struct cli *cli, cJSON *def, struct err *e)
{
	cJSON *config = cJSON_GetObjectItem(def, "config");
	const char *pair;

	if (!config)
		config = cJSON_AddObjectToObject(def, "config");
	for (int i = 0; (pair = cli_many(cli, "set", i)); i++)
		if (cli_set_member(config, pair, e))
			return -1;
	return 0;
}

void channel_command(struct cli *cli, int first, cJSON *def)
{
	cJSON *list;

	if (!cli_arg(cli, first))
		return;
	list = cJSON_AddArrayToObject(def, "command");
	for (int i = first; cli_arg(cli, i); i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(cli_arg(cli, i)));
}
