#include "cli/approvals/approval_answer.h"

static int approvals_allow(struct cli *cli, struct err *e)
{
	return approval_answer(cli, true, e);
}

const struct command cmd_approvals_allow = {
	.name = "approvals allow",
	.args = "APPROVAL",
	.help = "allow what a run asks for; there is one answer",
	.needs = NEEDS_SUPERVISOR,
	.options = (const struct option_spec[]){APPROVAL_ANSWER_OPTIONS},
	.run = approvals_allow,
};
