#include "cli/channel_cli.h"
#include "schema/control.h"

static int remove_direct(struct cli *cli, void *arg, struct err *e)
{
	(void)arg;
	return channels_remove(cli->control, cli_arg(cli, 0), control_actor(),
			       e);
}

static int channel_rm(struct cli *cli, struct err *e)
{
	struct cli_act act = {
		.method = "DELETE",
		.path = arena_printf(&cli->arena, "/v1/channels/%s",
				     cli_arg(cli, 0)),
		.direct = remove_direct,
	};

	struct channel_row row;
	int left,
		waits = sql_get(cli->control, Q_DELIVERY_NEXT_DUE,
				&(struct delivery_next_due_in){cli_arg(cli, 0)},
				&(struct delivery_next_due_row){0}, NULL, e);

	if (waits < 0 || cli_act(cli, &act, e))
		return -1;
	left = sql_get(cli->control, Q_CHANNEL_GET,
		       &(struct channel_get_in){cli_arg(cli, 0)}, &row,
		       &cli->arena, e);
	if (left < 0)
		return -1;
	output_note(&cli->out,
		    left ? "%s is being removed: 'skep channel show' has it "
			   "until it is gone"
			 : "removed %s",
		    cli_arg(cli, 0));
	if (waits)
		output_note(&cli->out,
			    "what waited on it becomes dead letters: skep "
			    "delivery ls --channel %s --state dead",
			    cli_arg(cli, 0));
	return 0;
}

const struct command cmd_channel_rm = {
	.name = "channel rm",
	.args = "NAME",
	.help = "remove a channel with its conversations",
	.about = "Deliveries stay; those that wait become dead letters, which "
		 "'skep delivery retry'\nbrings back once there is a channel "
		 "of that name again.",
	.needs = NEEDS_CONTROL_WRITE,
	.run = channel_rm,
};
