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
	.help = "print completions for bash, zsh or fish",
	.about = "For bash: source <(skep completion bash). For zsh: skep "
		 "completion zsh to a file _skep on the fpath.\nFor fish: skep "
		 "completion fish to ~/.config/fish/completions/skep.fish.",
	.run = completion,
};
