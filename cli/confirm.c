/* Questions before something is deleted or ended. */
#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

/* Returns whether the answer is yes. */
static bool ask(const char *question)
{
	char answer[16] = "";

	fprintf(stderr, "%s? [y/N] ", question);
	return fgets(answer, sizeof answer, stdin) &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static bool must_ask(struct cli *cli)
{
	return !cli_flag(cli, "yes") && isatty(STDIN_FILENO);
}

int cli_confirm_action(struct cli *cli, const char *action, struct err *e)
{
	if (!must_ask(cli) || ask(action))
		return 0;
	return err_set(e, ERR_CANCELED, "nothing was changed");
}

int cli_confirm(struct cli *cli, const char *what, struct err *e)
{
	if (!must_ask(cli) ||
	    ask(arena_printf(&cli->arena, "delete %s permanently", what)))
		return 0;
	return err_set(e, ERR_CANCELED, "nothing was deleted");
}

int cli_confirm_always(struct cli *cli, const char *what, struct err *e)
{
	if (!cli_flag(cli, "yes") && !isatty(STDIN_FILENO))
		return err_set(e, ERR_USAGE,
			       "this deletes %s permanently; confirm with "
			       "--yes",
			       what);
	return cli_confirm(cli, what, e);
}
