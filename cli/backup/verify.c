#include "cli/state/ops_cli.h"

#include "lib/base/id.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "ops/backup/backup.h"
#include "ops/staging_dir.h"
#include "schema/control/control.h"

#include <string.h>
#include <unistd.h>

#define BACKUPS_MAX 100000

static void print_manifest(struct cli *cli, const struct manifest *m,
			   const struct backup_sum *sum)
{
	struct table *t;
	char bytes[TEXT_HUMAN];

	if (cli_flag(cli, "list")) {
		t = table_new(&cli->out, &manifest_item_shape,
			      "role agent path schema_version bytes integrity");
		for (int i = 0; i < m->count; i++)
			table_add(t, &m->items[i]);
		table_end(t);
	} else if (cli->out.json) {
		output_object(&cli->out, &manifest_head_shape, &m->head);
	}
	output_note(&cli->out, "complete: %lld %s, %lld %s, %s; backup of %s",
		    (long long)sum->files,
		    text_plural(sum->files, "file", "files"),
		    (long long)sum->agents,
		    text_plural(sum->agents, "agent", "agents"),
		    text_human_bytes(sum->bytes, bytes), m->head.home);
}

/* A path, or an id or a file name of `skep backup ls`. */
static const char *archive_path(struct cli *cli, const char *word)
{
	struct backup_run_list_in in = {BACKUPS_MAX};
	struct backup_run_row *rows;
	struct err ignored;
	int n;

	if (!strcmp(word, "-") || file_exists(word) ||
	    home_find(&cli->home, cli_option(cli, "home"), &ignored) ||
	    control_open(&cli->control, &cli->home, SQL_READONLY, &ignored))
		return word;
	n = sql_collect(cli->control, Q_BACKUP_RUN_LIST, &in, BACKUPS_MAX,
			&rows, &cli->arena, &ignored);
	for (int i = 0; i < n; i++) {
		const char *path = rows[i].path;
		const char *name = path ? strrchr(path, '/') : NULL;

		if (path && (!strcmp(word, rows[i].id) ||
			     !strncmp(rows[i].id + 4, word, strlen(word)) ||
			     (name && !strcmp(name + 1, word))))
			return path;
	}
	return word;
}

/* Uses the temporary directory, since an archive can be verified without a
 * home. */
static int verify(struct cli *cli, struct err *e)
{
	const char *path = archive_path(cli, cli_arg(cli, 0));
	const char *tmp = home_env("TMPDIR");
	struct verify_options options = {.name = path};
	struct staging_dir w = {.lock = -1};
	struct backup_sum sum;
	struct ops_bar bar;
	struct manifest m;
	int rc;

	options.fd = ops_open_archive(path, &options.size, e);
	if (options.fd < 0)
		return -1;
	options.progress = ops_bar(&bar, cli, "verifying");
	rc = staging_dir_open(&w, tmp ? tmp : "/tmp", "skep-verify",
			      id_new(ID_BACKUP).text, e);
	options.scratch = w.path;
	if (!rc)
		rc = backup_verify(&options, &m, &sum, e);
	ops_bar_end(&bar);
	staging_dir_close(&w);
	close(options.fd);
	if (rc)
		return -1;
	print_manifest(cli, &m, &sum);
	if (sum.problems)
		rc = err_set(e, ERR_CORRUPT,
			     "the archive is undamaged, but it was "
			     "incomplete when it was made: %s",
			     sum.problem);
	manifest_fini(&m);
	return rc;
}

const struct command cmd_backup_verify = {
	.name = "backup verify",
	.args = "ARCHIVE",
	.help = "verify that a backup is complete and undamaged",
	.about = "Every database is opened and checked, and every "
		 "checksum is compared.",
	.needs = NEEDS_NOTHING,
	.arguments = ARGUMENTS({"ARCHIVE",
				"path of a backup, or its id or file name in "
				"'skep backup ls'; '-' reads standard input"}),
	.options = OPTIONS(
		FLAG('l', "list", "list the content of the archive")),
	.run = verify,
};
