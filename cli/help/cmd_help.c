#include "cli/cli.h"

#include "lib/base/text.h"

#define COMMAND_VIEW(F, S) F(S, text, name) F(S, text, args) F(S, text, help)
SHAPE_DECLARE(command_view, COMMAND_VIEW);
SHAPE_DEFINE(command_view, COMMAND_VIEW);

/* For programs: every command, one object per line. */
static int list_commands(struct cli *cli)
{
	for (int i = 0; commands[i]; i++) {
		struct command_view v = {commands[i]->name, commands[i]->args,
					 commands[i]->help};

		output_object(&cli->out, &command_view_shape, &v);
	}
	return 0;
}

static int help(struct cli *cli, struct err *e)
{
	char *argv[4] = {cli->args.words[-1]};
	struct args asked;
	char want[] = "--help";
	int n = 1;

	if (cli->out.json)
		return list_commands(cli);
	for (; n < 3 && cli_arg(cli, n - 1); n++)
		argv[n] = cli->args.words[n - 1];
	argv[n] = want;
	if (args_parse(&asked, n + 1, argv, e))
		return -1;
	if (asked.command)
		help_command(cli->out.to, asked.command);
	else if (asked.noun)
		help_noun(cli->out.to, asked.noun);
	else
		help_skep(cli->out.to);
	return 0;
}

const struct command cmd_help = {
	.name = "help",
	.args = "[NOUN] [VERB]",
	.help = "describe skep, a noun or a command",
	.about = "With --json, all commands are listed.",
	.arguments = ARGUMENTS({"NOUN", "noun or command"},
			       {"VERB", "verb of the noun"}),
	.run = help,
};
