#include "cli/follow_rows.h"

#include "cli/cli.h"
#include "schema/agent/watch.h"

#include <stdio.h>

#define LOOK_AGAIN_MS 1000 /* a hint may be lost */

int follow_control_rows(struct cli *cli, print_rows *print, void *arg,
			struct err *e)
{
	struct follow f;
	int rc;

	if (follow_open(&f, sql_path(cli->control), e))
		return -1;
	do
		rc = print(cli, arg, e);
	while (rc == 0 && !ferror(cli->out.to) &&
	       follow_wait(&f, LOOK_AGAIN_MS, e) >= 0);
	follow_close(&f);
	return rc;
}
