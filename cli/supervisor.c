/* Requests to the supervisor. */
#include "cli/cli.h"

#include "cli/state/ops_cli.h"
#include "lib/http/client.h"
#include "schema/control/control.h"

int cli_call(struct cli *cli, const char *method, const char *path,
	     const char *body, struct buf *answer, struct err *e)
{
	struct home_path socket = home_path(&cli->home, HOME_HTTP_SOCKET);
	struct http_target target = {.unix_path = socket.text,
				     .base_url = "http://skep"};

	if (!cli->http && http_client_open(&cli->http, &target, e))
		return -1;
	return http_client_call(cli->http, method, path, body, answer, e);
}

int cli_act(struct cli *cli, const struct cli_act *act, struct err *e)
{
	if (cli->supervised && !act->method)
		return err_set(e, ERR_BUSY,
			       "this is not possible while a supervisor is "
			       "running for %s; stop it with 'skep down'",
			       cli->home.root);
	if (cli->supervised)
		return cli_call(cli, act->method, act->path, act->body, NULL,
				e) < 0
			       ? -1
			       : 0;
	if (control_enter_alone(cli->control, e))
		return -1;
	return sql_leave(cli->control, act->direct(cli, act->arg, e), e);
}

void cli_done_to(struct cli *cli, const char *act, const char *what)
{
	struct err e;

	if (ops_audit(cli, act,
		      arena_printf(&cli->arena, "%s/%s", cli->agent_name, what),
		      NULL, &e))
		fprintf(stderr, "skep: warning: no audit row: %s\n", e.text);
}
