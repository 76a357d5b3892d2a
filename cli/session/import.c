#include "cli/cli.h"

#include "lib/base/text.h"
#include "lib/os/open_files.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent/transcript/session_jsonl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define IMPORTED(F, S) F(S, text, session) F(S, text, sid) F(S, i64, events)
SHAPE_DECLARE(imported, IMPORTED);
SHAPE_DEFINE(imported, IMPORTED);

struct source {
	FILE *from;
	const char *name;
	char *line;
	size_t cap;
	int64_t bytes;
	struct progress progress;
};

/* Like getline, with a limit for the length of a line. */
static int next_line(const char **text, size_t *n, void *ctx, struct err *e)
{
	struct source *s = ctx;
	size_t used = 0;
	int c;

	while ((c = getc(s->from)) != EOF && c != '\n') {
		if (used == SESSION_LINE_MAX)
			return err_set(e, ERR_TOOBIG,
				       "a line is longer than %u bytes",
				       SESSION_LINE_MAX);
		if (used == s->cap) {
			s->cap = s->cap ? s->cap * 2 : 4096;
			s->line = realloc(s->line, s->cap);
			if (!s->line)
				abort();
		}
		s->line[used++] = (char)c;
	}
	if (ferror(s->from))
		return err_errno_set(e, "read error");
	s->bytes += (int64_t)used + 1;
	progress_at(&s->progress, s->bytes);
	*text = s->line ? s->line : "";
	*n = used;
	return c != EOF || used > 0;
}

static int import(struct cli *cli, struct source *s, struct err *e)
{
	struct session_import_result r;
	struct imported out;
	struct stat st;
	int rc;

	progress_begin(&s->progress, &cli->out, "importing",
		       fstat(fileno(s->from), &st) ? 0 : (int64_t)st.st_size);
	rc = session_import_lines(&cli->agent, cli_option(cli, "session"),
				  next_line, s, &r, e);
	progress_end(&s->progress);
	if (rc) {
		/* an error in the data, not in the arguments */
		e->code = e->code == ERR_USAGE ? ERR_INVALID : e->code;
		return err_wrap(e, "%s", s->name);
	}
	cli_done_to(cli, "session.import", r.key);
	out = (struct imported){r.key, r.sid, r.events};
	output_result(&cli->out, &imported_shape, &out,
		      "imported session %s: %" PRId64 " events", out.session,
		      out.events);
	return 0;
}

static int session_import(struct cli *cli, struct err *e)
{
	const char *path = cli_arg(cli, 0), *key = cli_option(cli, "session");
	bool is_stdin = !strcmp(path, "-");
	struct source s = {.name = is_stdin ? "standard input" : path};
	int rc;

	if (key && text_check_key("--session", key, SESSION_KEY_MAX, e))
		return -1;
	if (!is_stdin && open_files_contain(AT_FDCWD, path))
		return err_set(e, ERR_INVALID, "%s is a database in use",
			       quoted(path).text);
	s.from = is_stdin ? stdin : fopen(path, "re");
	if (!s.from)
		return err_errno_set(e, "%s", quoted(path).text);
	rc = import(cli, &s, e);
	if (!is_stdin && fclose(s.from) && !rc)
		rc = err_errno_set(e, "%s", path);
	free(s.line);
	return rc;
}

const struct command cmd_session_import = {
	.name = "session import",
	.args = "FILE",
	.help = "create a session from the output of 'session export'",
	.about = "If a line is invalid, the error names it and "
		 "nothing is imported.",
	.needs = NEEDS_AGENT_MADE,
	.arguments = ARGUMENTS(
		{"FILE", "file to read; '-' reads standard input"}),
	.options = OPTIONS(
		OPTION(TEXT, 's', "session", "SESSION",
		       "key of the new session (default: the key in the "
		       "file)")),
	.run = session_import,
};
