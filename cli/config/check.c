#include "cli/config/config_edit.h"

#include "lib/base/text.h"
#include "lib/json/json.h"

#include <string.h>

/* The warnings, one per line, as a JSON array. */
static void put_warnings(struct buf *out, const char *lines)
{
	json_put_array(out, "warnings");
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		json_add_string(out, lines, n);
		lines += n + (lines[n] == '\n');
	}
	json_end_array(out);
}

static void print_check_result(struct cli *cli, const char *path)
{
	struct buf out = BUF_MAX(1u << 20);

	if (cli->out.json) {
		json_begin_object(&out);
		json_put_text(&out, "path", path);
		json_put_bool(&out, "exists", cli->config.from_file);
		put_warnings(&out, cli->config.warnings.p);
		json_end_object(&out);
		output_json(&cli->out, out.p);
	} else {
		output_text(&cli->out, cli->config.warnings.p,
			    cli->config.warnings.n);
		output_note(
			&cli->out, "%s: %s", path,
			!cli->config.from_file
				? "the file does not exist; the defaults apply"
			: cli->config.warnings.n > 0 ? "ok, with warnings"
						     : "ok");
	}
	buf_fini(&out);
}

static int config_check(struct cli *cli, struct err *e)
{
	struct home_path path = home_path(&cli->home, HOME_CONFIG);
	const char *file = cli_arg(cli, 0) ? cli_arg(cli, 0) : path.text;

	if (config_load(&cli->config, file, e))
		return -1;
	if (cli_arg(cli, 0) && !cli->config.from_file)
		return err_set(e, ERR_NOTFOUND, "there is no file %s", file);
	if (config_check_listen(&cli->config, file, e))
		return -1;
	print_check_result(cli, file);
	return 0;
}

const struct command cmd_config_check = {
	.name = "config check",
	.args = "[FILE]",
	.help = "check a configuration file",
	.about = "JSON errors are reported with line and column, and "
		 "invalid values with their key. Unknown keys are "
		 "warnings. No database is opened.",
	.needs = NEEDS_HOME,
	.arguments = ARGUMENTS(
		{"FILE", "file to check (default: skep.json in the home)"}),
	.run = config_check,
};
