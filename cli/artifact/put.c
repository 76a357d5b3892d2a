#include "cli/artifact/artifact_args.h"

#include "lib/base/text.h"
#include "lib/os/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 65536

/* Reads fd to its end into the writer. */
static int pour(struct cli *cli, int fd, const char *what,
		struct artifact_writer *w, struct err *e)
{
	static char piece[PIECE];
	struct progress p;
	struct stat st;
	int64_t done = 0;
	ssize_t n;

	progress_begin(&p, &cli->out, "storing",
		       fstat(fd, &st) ? 0 : (int64_t)st.st_size);
	while ((n = read(fd, piece, sizeof piece)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			progress_end(&p);
			return err_errno_set(e, "%s", what);
		}
		if (artifact_write(w, piece, (size_t)n, e)) {
			progress_end(&p);
			return -1;
		}
		progress_at(&p, done += n);
	}
	progress_end(&p);
	return 0;
}

static int store(struct cli *cli, const struct artifact_key *key, int fd,
		 struct err *e)
{
	struct artifact_about about = {
		.mime = cli_option(cli, "mime"),
		.meta = cli_option(cli, "meta"),
		.max_bytes = cli->config.agent_artifact_max};
	struct artifact_writer *w = NULL;
	struct artifact_row row;
	char size[TEXT_HUMAN];
	struct id aid;
	int rc = artifact_writer_open(&w, cli->agent.db, key, &about, e);

	if (!rc)
		rc = pour(cli, fd, cli_arg(cli, 0), w, e) ||
		     artifact_commit(w, &aid, e);
	artifact_writer_close(w);
	if (rc ||
	    artifact_get(cli->agent.db, aid.text, &row, &cli->arena, e) < 0)
		return -1;
	output_result(&cli->out, &artifact_row_shape, &row,
		      "stored %s as artifact %s (%s)", row.name, row.aid,
		      text_human_bytes(row.size, size));
	return 0;
}

static int run_artifact_put(struct cli *cli, struct err *e)
{
	const char *path = cli_arg(cli, 0), *name = cli_arg(cli, 1);
	const char *last = strrchr(path, '/');
	bool is_stdin = !strcmp(path, "-");
	struct artifact_key key;
	int fd, rc;

	if (is_stdin && !name)
		return err_set(e, ERR_USAGE,
			       "standard input needs a NAME for the artifact");
	if (artifact_key_of(cli, name ? name : (last ? last + 1 : path), &key,
			    e))
		return -1;
	fd = is_stdin ? STDIN_FILENO
		      : open_files_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno_set(e, "%s", quoted(path).text);
	rc = store(cli, &key, fd, e);
	if (!is_stdin)
		close(fd);
	return rc;
}

const struct command cmd_artifact_put = {
	.name = "artifact put",
	.args = "FILE [NAME]",
	.help = "store a file as an artifact",
	.about = "An existing artifact of the same name gets the new "
		 "content and keeps its id.",
	.needs = NEEDS_AGENT_MADE,
	.arguments = ARGUMENTS(
		{"FILE", "file to read; '-' reads standard input"},
		{"NAME",
		 "name of the artifact (default: the name of the file)"}),
	.options = OPTIONS(
		ARTIFACT_KEY_OPTIONS,
		OPTION(TEXT, 0, "mime", "TYPE", "media type of the content"),
		OPTION(TEXT, 0, "meta", "JSON",
		       "object to store with the artifact")),
	.run = run_artifact_put,
};
