#include "cli/cli.h"

#include "lib/base/text.h"
#include "lib/os/atomic_file.h"
#include "schema/agent/transcript/session_jsonl.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct sink {
	FILE *to;
	const char *name;
	bool is_shown; /* on a terminal, where the progress bar would be between
		        * them */
	int64_t lines;
	struct progress progress;
};

static int put_line(const char *text, size_t n, void *ctx, struct err *e)
{
	struct sink *s = ctx;

	if (fwrite(text, 1, n, s->to) != n || fputc('\n', s->to) == EOF)
		return err_errno_set(e, "%s", s->name);
	progress_at(&s->progress, ++s->lines);
	return 0;
}

static int export_to(struct cli *cli, struct sink *s, struct err *e)
{
	const char *view = cli_option(cli, "view");
	int rc;

	progress_begin(&s->progress, &cli->out, "events", 0);
	if (s->is_shown)
		s->progress.on = false;
	rc = session_export_lines(&cli->agent, cli_arg(cli, 0),
				  view && !strcmp(view, "path") ? HISTORY_PATH
								: HISTORY_LOG,
				  put_line, s, e);
	progress_end(&s->progress);
	return rc;
}

static int export_file(struct cli *cli, const char *path, struct err *e)
{
	struct sink s = {.name = path};
	struct atomic_file f;
	int rc;

	if (atomic_file_open(&f, path, 0600, e))
		return -1;
	s.to = fdopen(dup(f.fd), "w");
	rc = s.to ? export_to(cli, &s, e) : err_errno_set(e, "%s", path);
	if (s.to && fclose(s.to) && rc == 0)
		rc = err_errno_set(e, "%s", path);
	rc = atomic_file_end(&f, rc, e);
	if (rc == 0)
		output_note(&cli->out, "%s: %lld %s", path,
			    (long long)s.lines - 1,
			    text_plural(s.lines - 1, "event", "events"));
	return rc;
}

static int session_export(struct cli *cli, struct err *e)
{
	const char *path = cli_option(cli, "output");
	struct sink s = {.to = cli->out.to,
			 .name = "standard output",
			 .is_shown = isatty(STDOUT_FILENO)};

	if (path && strcmp(path, "-") != 0)
		return export_file(cli, path, e);
	return export_to(cli, &s, e);
}

const struct command cmd_session_export = {
	.name = "session export",
	.args = "SESSION",
	.help = "write a session as JSON lines",
	.about = "The first line is the session; each further line is "
		 "an event with its parts. 'skep session import' "
		 "recreates the same records.",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(
		OPT_OUTPUT("write to FILE instead of standard output"),
		OPTION(WORD, 0, "view", "log|path",
		       "all events (log, the default) or only visible ones "
		       "(path)")),
	.run = session_export,
};
