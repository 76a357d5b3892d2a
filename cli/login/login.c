/* login ls and end. */
#include "cli/list.h"
#include "cli/remote.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

static int login_ls(struct cli *cli, struct err *e)
{
	struct cli_list l = {
		.cli = cli,
		.shape = &login_item_shape,
		.columns = "id name is_open scopes opened_at expires_at",
		.none = "no logins; 'skep ui' signs a browser in",
	};

	return cli_list_query(&l, cli->control, Q_LOGIN_LIST,
			      &(struct login_list_in){clock_now()}, e);
}

static int login_end(struct cli *cli, struct err *e)
{
	const char *id = cli_arg(cli, 0);
	cJSON *answer;

	if (!id_is(ID_LOGIN, id))
		return err_set(e, ERR_USAGE, "'%s' is not the id of a login",
			       quoted(id).text);
	answer = remote_call(cli, "DELETE",
			     arena_printf(&cli->arena, "/v1/logins/%s", id),
			     NULL, e);
	if (!answer)
		return -1;
	remote_result(cli, answer, "ended login %s", id);
	cJSON_Delete(answer);
	return 0;
}

const struct command cmd_login_ls = {
	.name = "login ls",
	.help = "list the browsers that are signed in, and unused codes",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(OPT_QUIET),
	.run = login_ls,
};

const struct command cmd_login_end = {
	.name = "login end",
	.args = "LOGIN",
	.help = "sign a browser out, or withdraw its code",
	.about = "Its next request is refused. An event stream that is open "
		 "stays open until the browser closes it.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(
		{"LOGIN", "id of a login; 'skep login ls' lists them"}),
	.run = login_end,
};
