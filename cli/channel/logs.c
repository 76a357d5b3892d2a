#include "cli/channel/channel_cli.h"

#include "lib/base/text.h"
#include "lib/os/file.h"
#include "lib/os/rotated_log.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_MAX (16u << 20)
#define POLL_MS 100
#define LINES   100 /* like the limit over HTTP */

/* With --json each line is an object. */
static void print_lines(struct cli *cli, const char *p, size_t n)
{
	struct buf b = BUF_MAX(LOG_MAX * 4u);

	if (!cli->out.json) {
		output_text(&cli->out, p, n);
		return;
	}
	while (n > 0) {
		const char *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) : n;

		buf_clear(&b);
		json_begin_object(&b);
		json_key(&b, "line");
		json_add_string(&b, p, len);
		json_end_object(&b);
		output_json(&cli->out, b.p);
		len += end != NULL;
		p += len;
		n -= len;
	}
	buf_fini(&b);
}

/* Prints what was appended; only whole lines, unless the file was rotated. */
static int print_new(struct cli *cli, int fd, struct buf *b, struct err *e)
{
	const char *end;
	size_t n;

	if (file_read_fd(fd, "the log", b, e))
		return -1;
	end = memrchr(b->p, '\n', b->n);
	n = end ? (size_t)(end - b->p) + 1 : 0;
	print_lines(cli, b->p, n);
	buf_drop(b, n);
	return output_end(&cli->out, e);
}

/* Does the path still name the open file? */
static bool is_same(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Waits; returns whether the reader of stdout has closed it. */
static bool wait_a_little(const struct cli *cli)
{
	struct pollfd out = {.fd = cli->out.fd};

	return poll(&out, 1, POLL_MS) <= 0 && !ferror(cli->out.to);
}

/* Follows the log until interrupted, also after rotations. fd -1: the file does
 * not exist yet. */
static int follow_log(struct cli *cli, const char *path, int fd, struct err *e)
{
	struct buf b = BUF_MAX(LOG_MAX);
	int rc = 0;

	do {
		if (fd >= 0)
			rc = print_new(cli, fd, &b, e);
		if (rc == 0 && fd >= 0 && !is_same(fd, path)) {
			rc = print_new(cli, fd, &b, e);
			close(fd);
			fd = -1;
		}
		if (fd < 0)
			fd = open(path, O_RDONLY | O_CLOEXEC);
	} while (rc == 0 && wait_a_little(cli));
	if (fd >= 0)
		close(fd);
	buf_fini(&b);
	return rc;
}

/* Prints the end of both files; the newer one stays open for the follow. */
static int print_end(struct cli *cli, const char *path, int *fd, struct err *e)
{
	struct buf b = BUF_MAX(LOG_MAX);
	const char *from;
	int fds[2], rc = 0;

	rotated_log_open(path, fds);
	if (fds[0] >= 0) {
		rc = file_read_fd(fds[0], path, &b, e);
		close(fds[0]);
	}
	*fd = fds[1];
	if (rc == 0 && *fd >= 0)
		rc = file_read_fd(*fd, path, &b, e);
	if (rc == 0 && b.n) {
		from = text_last_lines(b.p, b.n,
				       cli_number(cli, "limit", LINES));
		print_lines(cli, from, (size_t)(b.p + b.n - from));
	}
	if (rc == 0 && !b.n && !cli_flag(cli, "follow"))
		output_note(&cli->out, "plugin %s has not been started yet",
			    cli_arg(cli, 0));
	buf_fini(&b);
	return rc ? -1 : output_end(&cli->out, e);
}

static int channel_logs(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct channel_row row;
	struct home_path path;
	int fd = -1, rc;

	if (channels_get(cli->control, name, &row, &cli->arena, e))
		return -1;
	if (strcmp(row.kind, "plugin") != 0)
		return err_set(e, ERR_CONFLICT,
			       "%s is a %s channel; only plugins have a log. "
			       "'skep delivery ls --channel %s' lists its "
			       "deliveries",
			       name, row.kind, name);
	path = home_join(&cli->home, HOME_LOGS,
			 arena_printf(&cli->arena, "channel-%s.log", name));
	rc = print_end(cli, path.text, &fd, e);
	if (rc == 0 && cli_flag(cli, "follow"))
		return follow_log(cli, path.text, fd, e);
	if (fd >= 0)
		close(fd);
	return rc;
}

const struct command cmd_channel_logs = {
	.name = "channel logs",
	.args = "CHANNEL",
	.help = "print the last lines of the log of a plugin",
	.about = "The log contains the plugin's standard error. Lines that "
		 "start with '-- skepd' record when the plugin was started and "
		 "why it was stopped.",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(OPT_FOLLOW("continue until interrupted"),
			   OPTION(INT, 'n', "limit", "N",
				  "start with the last N lines (default 100)")),
	.run = channel_logs,
};
