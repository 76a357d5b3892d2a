#include "cli/cli.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json_write.h"
#include "lib/os/log_search.h"

#include <poll.h>

#define LINES   100
#define POLL_MS 200

static int print_line(void *arg, const struct log_line *line, struct err *e)
{
	struct cli *cli = arg;
	struct buf b = BUF_MAX(64u << 20);
	int rc;

	if (cli->out.json)
		json_add_shape(&b, &log_line_shape, line);
	else
		buf_adds(&b, line->line);
	rc = buf_ok(&b, "a line of the log", e);
	if (rc == 0 && cli->out.json) {
		output_json(&cli->out, b.p);
	} else if (rc == 0) {
		buf_addc(&b, '\n');
		output_text(&cli->out, b.p, b.n);
	}
	buf_fini(&b);
	return rc;
}

struct line_count {
	struct cli *cli;
	int64_t n;
};

static int count_line(void *arg, const struct log_line *line, struct err *e)
{
	struct line_count *c = arg;

	c->n++;
	return print_line(c->cli, line, e);
}

/* Waits; false if the reader of stdout has closed it. */
static bool wait_for_lines(const struct cli *cli)
{
	struct pollfd out = {.fd = cli->out.fd};

	return poll(&out, 1, POLL_MS) <= 0 && !ferror(cli->out.to);
}

static int follow(struct cli *cli, struct log_follow *w,
		  const struct log_filter *f, struct err *e)
{
	int rc;

	do {
		rc = log_follow_next(w, f, print_line, cli, e);
		if (rc == 0)
			rc = output_end(&cli->out, e);
	} while (rc == 0 && wait_for_lines(cli));
	return rc;
}

static int64_t ago(const struct cli *cli, const char *option)
{
	int64_t ms = cli_number(cli, option, -1);

	return ms < 0 ? 0 : clock_now() - ms;
}

static int search_log(struct cli *cli, struct err *e)
{
	const char *level = cli_option(cli, "level");
	struct home_path dir = home_path(&cli->home, HOME_LOGS);
	struct log_filter f = {
		.source = cli_option(cli, "source"),
		.module = cli_option(cli, "module"),
		.run = cli_option(cli, "run"),
		.text = cli_arg(cli, 0),
		.level = level ? log_level_from(level) : LOG_LEVEL_DEBUG,
		.since = ago(cli, "since"),
		.until = ago(cli, "until"),
	};
	struct log_follow *w = NULL;
	struct line_count count = {.cli = cli};
	int rc = log_search(dir.text, &f, cli_number(cli, "limit", LINES), &w,
			    count_line, &count, e);

	if (rc == 0)
		rc = output_end(&cli->out, e);
	if (rc == 0 && cli_flag(cli, "follow"))
		rc = follow(cli, w, &f, e);
	else if (rc == 0 && count.n == 0 && !cli->out.json)
		fprintf(stderr, "no line of the log matches\n");
	log_follow_free(w);
	return rc;
}

const struct command cmd_log = {
	.name = "log",
	.args = "[TEXT]",
	.help = "search the logs of skepd, workers and plugins",
	.about = "It reads logs/skepd.log, the logs of plugins, and their "
		 "rotated files; no supervisor is needed. skepd rotates its "
		 "log by size and age (settings log.max, log.age and "
		 "log.keep). A line of a plugin has the time of the last line "
		 "with a time before it. GET /v1/log returns the same lines.\n"
		 "\n"
		 "Examples:\n"
		 "  skep log --level warn --since 1h\n"
		 "  skep log --source channel/mail --follow\n"
		 "  skep log --run run_01m7qjex30796z7fs88pxyvq8q",
	.needs = NEEDS_HOME,
	.arguments = ARGUMENTS(
		{"TEXT", "print only lines that contain this text, in upper "
			 "or lower case"}),
	.options = OPTIONS(
		OPTION(TEXT, 0, "source", "SOURCE",
		       "print only lines of skepd, worker, spawner, watchdog, "
		       "channel (all plugins) or channel/NAME"),
		OPTION(WORD, 0, "level", "debug|info|warn|error",
		       "print only lines of this level and above"),
		OPTION(TEXT, 0, "module", "MODULE",
		       "print only lines of this part of the program, such as "
		       "run or run/start"),
		OPTION(TEXT, 0, "run", "RUN",
		       "print only lines about this run"),
		OPTION(MILLIS, 0, "since", "TIME",
		       "print only lines newer than this, such as 12h"),
		OPTION(MILLIS, 0, "until", "TIME",
		       "print only lines older than this"),
		OPT_FOLLOW("continue with new lines until interrupted"),
		OPT_LIMIT("start with the newest N lines (default 100)")),
	.run = search_log,
};
