#include "cli/interactive.h"

#include "lib/os/program_path.h"

#include <string.h>
#include <unistd.h>

const struct interactive *interactive;

void interactive_exec(struct cli *cli)
{
	struct program_path path = program_path("skep-screen");
	const char *term = getenv("TERM");

	if (interactive || cli->out.json || !isatty(STDIN_FILENO) ||
	    !isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb"))
		return;
	(void)fflush(NULL);
	execv(path.text, cli->argv);
}
