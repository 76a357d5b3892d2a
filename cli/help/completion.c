#include "cli/cli.h"
#include "cli/help/complete.h"

#include "lib/base/text.h"

#include <string.h>

static int completion(struct cli *cli, struct err *e)
{
	const char *shell = cli_arg(cli, 0);

	if (text_check_word("shell", "bash|zsh|fish", shell, e))
		return -1;
	if (!strcmp(shell, "bash"))
		complete_bash(cli->out.to);
	else if (!strcmp(shell, "zsh"))
		complete_zsh(cli->out.to);
	else
		complete_fish(cli->out.to);
	return 0;
}

const struct command cmd_completion = {
	.name = "completion",
	.args = "SHELL",
	.help = "print a completion script for bash, zsh or fish",
	.about = "Setup:\n"
		 "  bash: source <(skep completion bash)\n"
		 "  zsh:  skep completion zsh > DIRECTORY/_skep, with a "
		 "DIRECTORY in fpath\n"
		 "  fish: skep completion fish > "
		 "~/.config/fish/completions/skep.fish",
	.arguments = ARGUMENTS({"SHELL", "bash, zsh or fish"}),
	.run = completion,
};
