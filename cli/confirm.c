/* Questions before something is deleted. */
#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

static int ask(const char *what, struct err *e)
{
	char answer[16] = "";

	fprintf(stderr, "delete %s permanently? [y/N] ", what);
	if (fgets(answer, sizeof answer, stdin) &&
	    (answer[0] == 'y' || answer[0] == 'Y'))
		return 0;
	return err_set(e, ERR_CANCELED, "nothing was deleted");
}

int cli_confirm(struct cli *cli, const char *what, struct err *e)
{
	return cli_flag(cli, "yes") || !isatty(STDIN_FILENO) ? 0 : ask(what, e);
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
