/* skep-screen: skep with ncurses and libedit. */
#include "cli/interactive.h"
#include "cli/screen/line_edit.h"
#include "cli/screen/top_screen.h"

static const struct interactive screen = {.top = top_screen,
					  .read_line = line_edit_read};

int main(int argc, char **argv)
{
	int rc;

	interactive = &screen;
	rc = cli_main(argc, argv);
	line_edit_end();
	return rc;
}
