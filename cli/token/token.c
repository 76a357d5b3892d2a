/* token add, ls and rm. */
#include "cli/list.h"
#include "cli/remote.h"
#include "lib/base/text.h"

#define PATH_TOKENS "/v1/tokens"

static int token_add(struct cli *cli, struct err *e)
{
	struct buf body = BUF_MAX(1 << 16);
	cJSON *made = NULL;
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "name", cli_arg(cli, 0));
	json_put_int(&body, "lifetime_ms", cli_number(cli, "expires", 0));
	rc = remote_put_scopes(cli, &body, e);
	json_end_object(&body);
	if (rc == 0 && buf_ok(&body, "the request", e) == 0)
		made = remote_call(cli, "POST", PATH_TOKENS, body.p, e);
	buf_fini(&body);
	if (!made)
		return -1;
	if (cli->out.json)
		remote_done(cli, made);
	else
		output_note(&cli->out, "%s", json_text(made, "token", "?"));
	cJSON_Delete(made);
	return 0;
}

static int token_ls(struct cli *cli, struct err *e)
{
	struct cli_list l = {
		.cli = cli,
		.shape = &api_token_item_shape,
		.columns = "name scopes created_at expires_at",
		.none = "no tokens; 'skep token add NAME' creates one",
	};

	return cli_list_query(&l, cli->control, Q_API_TOKEN_LIST, NULL, e);
}

static int token_rm(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	cJSON *answer;

	if (text_check_name("token", name, e) ||
	    cli_confirm(cli, arena_printf(&cli->arena, "token '%s'", name), e))
		return -1;
	answer = remote_call(cli, "DELETE",
			     arena_printf(&cli->arena, PATH_TOKENS "/%s", name),
			     NULL, e);
	if (!answer)
		return -1;
	if (cli->out.json)
		remote_done(cli, answer);
	else
		output_note(&cli->out, "revoked token %s", name);
	cJSON_Delete(answer);
	return 0;
}

const struct command cmd_token_add = {
	.name = "token add",
	.args = "NAME",
	.help = "create a token and print its secret",
	.about = "Programs that use the TCP port of skepd send the secret in "
		 "the header Authorization: Bearer SECRET. skep stores only a "
		 "hash of it, so the secret cannot be printed again. The "
		 "setting http.listen opens the port.\n"
		 "\n"
		 "Example:\n"
		 "  skep token add ci --scope read --scope run --expires 90d",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS({"NAME", "name of the new token: letters, "
					"digits, '-', '_' and '.'"}),
	.options = OPTIONS(
		OPTION(MANY, 0, "scope", "SCOPE",
		       "what the token permits: read, run, approve or admin; "
		       "may be repeated (default read)"),
		OPTION(MILLIS, 0, "expires", "TIME",
		       "the token becomes invalid after this time (default: "
		       "never)")),
	.run = token_add,
};

const struct command cmd_token_ls = {
	.name = "token ls",
	.help = "list tokens; their secrets are not stored",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(OPT_LIST),
	.run = token_ls,
};

const struct command cmd_token_rm = {
	.name = "token rm",
	.args = "NAME...",
	.each = true,
	.help = "revoke a token",
	.about = "The next request with the token is rejected.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS(
		{"NAME", "name of a token; 'skep token ls' lists them"}),
	.options = OPTIONS(OPT_YES("do not ask for confirmation")),
	.run = token_rm,
};
