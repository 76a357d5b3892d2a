#include "cli/artifact/artifact_args.h"

#include "lib/base/text.h"
#include "lib/os/atomic_file.h"

#include <string.h>
#include <unistd.h>

/* Binary data is not written to a terminal, which would interpret it. */
static int check_terminal(const struct artifact_row *row, struct err *e)
{
	if (!isatty(STDOUT_FILENO) ||
	    (row->mime && !strncmp(row->mime, "text/", 5)))
		return 0;
	return err_set(e, ERR_USAGE,
		       "refusing to write '%s' (%s) to a terminal; "
		       "use --output FILE or a pipe",
		       quoted(row->name).text, row->mime ? row->mime : "-");
}

static int to_terminal(struct cli *cli, const char *aid, struct err *e)
{
	struct artifact_reader *r;
	struct blob piece;
	int got;

	if (artifact_reader_open(&r, cli->agent.db, aid, e))
		return -1;
	while ((got = artifact_read(r, &piece, e)) > 0)
		output_text(&cli->out, piece.p, piece.n);
	artifact_reader_close(r);
	return got;
}

static int to_file(struct cli *cli, const char *aid, const char *path,
		   struct err *e)
{
	struct atomic_file f;

	if (atomic_file_open(&f, path, 0600, e))
		return -1;
	return atomic_file_end(
		&f, artifact_get_fd(cli->agent.db, aid, f.fd, path, e), e);
}

static int run_artifact_get(struct cli *cli, struct err *e)
{
	const char *path = cli_option(cli, "output");
	struct artifact_row row;
	char size[TEXT_HUMAN];

	if (artifact_need(cli, &row, e))
		return -1;
	if (path && strcmp(path, "-") != 0) {
		if (to_file(cli, row.aid, path, e))
			return -1;
		output_result(&cli->out, &artifact_row_shape, &row,
			      "wrote artifact %s to %s (%s)", row.aid, path,
			      text_human_bytes(row.size, size));
		return 0;
	}
	if (check_terminal(&row, e))
		return -1;
	if (cli->out.width)
		return to_terminal(cli, row.aid, e);
	return artifact_get_fd(cli->agent.db, row.aid, STDOUT_FILENO,
			       "standard output", e);
}

const struct command cmd_artifact_get = {
	.name = "artifact get",
	.args = "ARTIFACT",
	.help = "write the content of an artifact to standard output "
		"or a file",
	.about = "The size and the SHA-256 checksum are verified.",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(
		ARTIFACT_KEY_OPTIONS,
		OPT_OUTPUT("write to FILE instead of standard output")),
	.run = run_artifact_get,
};
