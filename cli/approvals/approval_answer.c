#include "cli/approvals/approval_answer.h"

#include "cli/remote.h"

#include <string.h>

int approval_answer(struct cli *cli, bool allow, struct err *e)
{
	static const char *const texts[] = {"note", "choice"};
	struct buf body = BUF_MAX(1 << 16);
	int rc;

	buf_addf(&body, "{\"allow\":%s", allow ? "true" : "false");
	for (int i = 0; i < 2; i++) {
		const char *text = cli_option(cli, texts[i]);

		if (!text)
			continue;
		buf_addf(&body, ",\"%s\":", texts[i]);
		json_add_string(&body, text, strlen(text));
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
