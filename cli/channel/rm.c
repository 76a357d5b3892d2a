#include "cli/channel/channel_cli.h"
#include "schema/control/control.h"

#include <string.h>
#include <unistd.h>

static void remove_log(struct cli *cli, const char *end)
{
	const char *file = arena_printf(&cli->arena, "channel-%s.log%s",
					cli_arg(cli, 0), end);

	unlink(home_join(&cli->home, HOME_LOGS, file).text);
}

static int remove_direct(struct cli *cli, void *arg, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct channel_row row;
	int found = sql_get(cli->control, Q_CHANNEL_GET,
			    &(struct channel_get_in){name}, &row, &cli->arena,
			    e);

	(void)arg;
	if (found < 0 ||
	    channels_remove(cli->control, name, control_actor(), e))
		return -1;
	if (found == 1 && !strcmp(row.kind, "plugin")) {
		remove_log(cli, "");
		remove_log(cli, ".1");
	}
	return 0;
}

static int channel_rm(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct cli_act act = {
		.method = "DELETE",
		.path = arena_printf(&cli->arena, "/v1/channels/%s", name),
		.direct = remove_direct,
	};
	struct delivery_next_due_in due = {name};
	struct delivery_next_due_row first;
	struct channel_get_in key = {name};
	struct channel_row row;
	int left, waits = sql_get(cli->control, Q_DELIVERY_NEXT_DUE, &due,
				  &first, NULL, e);

	if (waits < 0 ||
	    cli_confirm(cli,
			arena_printf(&cli->arena,
				     "channel '%s' with its conversations",
				     name),
			e) ||
	    cli_act(cli, &act, e))
		return -1;
	left = sql_get(cli->control, Q_CHANNEL_GET, &key, &row, &cli->arena, e);
	if (left < 0)
		return -1;
	output_note(&cli->out,
		    left ? "channel %s is being removed; 'skep channel show' "
			   "shows it until this is complete"
			 : "removed channel %s",
		    name);
	if (waits)
		output_note(&cli->out,
			    "its pending deliveries become dead letters; "
			    "'skep delivery ls --channel %s --state "
			    "dead' lists them",
			    name);
	return 0;
}

const struct command cmd_channel_rm = {
	.name = "channel rm",
	.args = "CHANNEL...",
	.each = true,
	.help = "delete a channel with its conversations",
	.about = "Deliveries are kept. Pending ones become dead letters; 'skep "
		 "delivery retry' sends them once a channel with the same name "
		 "exists.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(OPT_YES("do not ask for confirmation")),
	.run = channel_rm,
};
