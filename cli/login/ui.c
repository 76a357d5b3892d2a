/* ui: signs a browser in to the dashboard. */
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/remote.h"

/* A desktop has a browser that xdg-open finds. */
static bool has_desktop(void)
{
	return isatty(STDOUT_FILENO) &&
	       (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"));
}

/* The printed URL is enough if this fails. */
static void open_browser(const char *url)
{
	char program[] = "xdg-open", *copy = strdup(url);
	char *argv[] = {program, copy, NULL};
	posix_spawn_file_actions_t files;
	pid_t pid;

	if (!copy)
		abort();
	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null",
						 O_RDWR, 0);
	(void)posix_spawnp(&pid, program, &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	free(copy);
}

static cJSON *request_code(struct cli *cli, struct err *e)
{
	const char *name = cli_option(cli, "name");
	struct buf body = BUF_MAX(1 << 16);
	cJSON *made = NULL;
	int rc;

	json_begin_object(&body);
	if (name)
		json_put_text(&body, "name", name);
	json_put_int(&body, "lifetime_ms", cli_number(cli, "expires", 0));
	rc = remote_put_scopes(cli, &body, e);
	json_end_object(&body);
	if (rc == 0 && buf_ok(&body, "the request", e) == 0)
		made = remote_call(cli, "POST", "/v1/logins/codes", body.p, e);
	buf_fini(&body);
	return made;
}

static int ui(struct cli *cli, struct err *e)
{
	cJSON *made = request_code(cli, e);
	const char *url;

	if (!made)
		return -1;
	url = json_text(made, "url", "");
	if (cli->out.json)
		remote_done(cli, made);
	else
		output_note(&cli->out, "%s", url);
	if (!cli->out.json && !cli_flag(cli, "print") && has_desktop())
		open_browser(url);
	cJSON_Delete(made);
	return 0;
}

const struct command cmd_ui = {
	.name = "ui",
	.help = "open the dashboard in a browser, or print its address",
	.about = "The address contains a code that signs one browser in, once, "
		 "within 5 minutes. The dashboard is off unless the setting "
		 "http.listen opens a TCP port.\n"
		 "\n"
		 "To sign a phone in, so that it can answer approvals for a "
		 "month:\n"
		 "  skep ui --print --name phone --scope read --scope approve "
		 "--expires 30d",
	.needs = NEEDS_SUPERVISOR,
	.options = OPTIONS(
		FLAG('p', "print", "print the address, do not open a browser"),
		OPTION(TEXT, 0, "name", "NAME",
		       "name of the device in the list of logins (default "
		       "browser)"),
		OPTION(MANY, 0, "scope", "SCOPE",
		       "what the browser may do: read, run, approve or admin; "
		       "may be repeated (default: everything)"),
		OPTION(MILLIS, 0, "expires", "TIME",
		       "the login ends after this time (default 12h)")),
	.run = ui,
};
