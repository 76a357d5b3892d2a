#include "cli/approvals/approval_answer.h"

static int approvals_deny(struct cli *cli, struct err *e)
{
	return approval_answer(cli, false, e);
}

const struct command cmd_approvals_deny = {
	.name = "approvals deny",
	.args = "APPROVAL",
	.help = "deny what a run asks for; there is one answer",
	.needs = NEEDS_SUPERVISOR,
	.options = (const struct option_spec[]){APPROVAL_ANSWER_OPTIONS},
	.run = approvals_deny,
};
