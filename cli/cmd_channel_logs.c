#include "cli/channel_cli.h"

#include "base/file.h"

#include <string.h>

#define LOG_MAX (16u << 20)

/* The last n lines of the text. */
static const char *last_lines(const struct buf *b, int64_t n)
{
	const char *p = b->p + b->n;

	if (b->n && p[-1] == '\n')
		p--;
	while (p > b->p && (p[-1] != '\n' || --n > 0))
		p--;
	return p;
}

static int channel_logs(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0), *from;
	struct home_path path = home_join(
		&cli->home, HOME_LOGS,
		arena_printf(&cli->arena, "channel-%s.log", name));
	struct buf b = BUF_MAX(LOG_MAX);
	struct channel_row row;
	int rc;

	if (channels_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	if (strcmp(row.kind, "plugin") != 0)
		return err_set(e, ERR_CONFLICT,
			       "%s is a %s channel; only plugins have a log. "
			       "'skep delivery ls --channel %s' shows what "
			       "happened",
			       name, row.kind, name);
	if (!file_exists(path.text))
		return 0;
	rc = file_read(path.text, &b, e);
	if (rc == 0) {
		from = last_lines(&b, cli_number(cli, "lines", 50));
		output_text(&cli->out, from, (size_t)(b.p + b.n - from));
	}
	buf_fini(&b);
	return rc;
}

const struct command cmd_channel_logs = {
	.name = "channel logs",
	.args = "NAME",
	.help = "print the end of what a plugin wrote to its stderr",
	.needs = NEEDS_CONTROL_READ,
	.options =
		(const struct option_spec[]){
			{"lines", "N", "how many lines (50)", OPTION_INT},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = channel_logs,
};
