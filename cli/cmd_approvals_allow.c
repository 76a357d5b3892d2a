#include "cli/remote.h"

#include <string.h>

static int approvals_allow(struct cli *cli, struct err *e)
{
	const char *note = cli_option(cli, "note");
	struct buf body = BUF_MAX(1 << 16);
	int rc;

	buf_adds(&body, "{\"allow\":true");
	if (note) {
		buf_adds(&body, ",\"note\":");
		json_add_string(&body, note, strlen(note));
	}
	buf_addc(&body, '}');
	rc = buf_ok(&body, "the note", e);
	if (rc == 0)
		rc = remote_post(
			cli,
			remote_path(cli, ID_APPROVAL, cli_arg(cli, 0), NULL, e),
			body.p, e);
	buf_fini(&body);
	return rc;
}

const struct command cmd_approvals_allow = {
	.name = "approvals allow",
	.args = "APPROVAL",
	.help = "allow what a run asks for; there is one answer",
	.needs = NEEDS_SUPERVISOR,
	.options = (const struct option_spec[]){{"note", "TEXT",
						 "for the run and the record",
						 OPTION_TEXT},
						{NULL, NULL, NULL,
						 OPTION_FLAG}},
	.run = approvals_allow,
};
