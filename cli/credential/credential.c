/* credential add, ls and rm. */
#include "cli/list.h"
#include "cli/secret_input.h"
#include "lib/base/text.h"
#include "lib/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CREDENTIAL(F, S) \
	F(S, text, name) \
	F(S, text, mode) \
	F(S, i64, bytes) F(S, time, updated_at) F(S, text, path)
SHAPE_DECLARE(credential_row, CREDENTIAL);
SHAPE_DEFINE(credential_row, CREDENTIAL);

static int read_row(struct cli *cli, const char *name,
		    struct credential_row *row, struct err *e)
{
	struct home_path path = home_join(&cli->home, HOME_CREDENTIALS, name);
	struct stat st;

	if (lstat(path.text, &st))
		return errno == ENOENT
			       ? err_set(e, ERR_NOTFOUND,
					 "there is no credential '%s'; 'skep "
					 "credential ls' lists them",
					 quoted(name).text)
			       : err_errno_set(e, "%s", path.text);
	*row = (struct credential_row){
		.name = arena_text(&cli->arena, name),
		.mode = arena_printf(&cli->arena, "%04o",
				     (unsigned)(st.st_mode & 07777)),
		.bytes = st.st_size,
		.updated_at = (int64_t)st.st_mtim.tv_sec * 1000,
		.path = arena_text(&cli->arena, path.text)};
	return 0;
}

static int credential_add(struct cli *cli, struct err *e)
{
	struct secret_source from = {.file = cli_option(cli, "key-file"),
				     .variable = cli_option(cli, "key-env"),
				     .prompt = "secret"};
	const char *name = cli_arg(cli, 0);
	struct buf secret = BUF_MAX(SECRET_MAX);
	struct credential_row row;
	int rc = text_check_name("credential", name, e)
			 ? -1
			 : secret_read(&from, &secret, e);

	if (!rc)
		rc = secret_store(&cli->home, name, &secret,
				  cli_flag(cli, "replace"), e);
	secret_clear(&secret);
	if (rc < 0 || read_row(cli, name, &row, e))
		return -1;
	output_result(&cli->out, &credential_row_shape, &row,
		      "credential %s: %s", name,
		      rc ? "stored with mode 0600" : "unchanged");
	return 0;
}

static int is_credential(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int credential_ls(struct cli *cli, struct err *e)
{
	struct home_path dir = home_path(&cli->home, HOME_CREDENTIALS);
	struct cli_list l = {.cli = cli,
			     .shape = &credential_row_shape,
			     .columns = "name mode bytes updated_at",
			     .none = "no credentials; 'skep credential add "
				     "NAME' stores one"};
	struct dirent **names = NULL;
	int n = scandir(dir.text, &names, is_credential, alphasort), rc = 0;

	if (n < 0 && errno != ENOENT)
		return err_errno_set(e, "%s", dir.text);
	for (int i = 0; i < n; i++) {
		struct credential_row row;
		struct err ignored; /* deleted meanwhile */

		if (read_row(cli, names[i]->d_name, &row, &ignored) == 0)
			cli_list_add(&l, &row);
		free(names[i]);
	}
	free(names);
	cli_list_end(&l);
	return rc;
}

static int credential_rm(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct credential_row row;
	const char *what = arena_printf(&cli->arena, "the credential %s", name);

	if (text_check_name("credential", name, e) ||
	    read_row(cli, name, &row, e) || cli_confirm(cli, what, e))
		return -1;
	if (unlink(row.path) || file_sync_parent(row.path, e))
		return err_errno_set(e, "%s", row.path);
	output_result(&cli->out, &credential_row_shape, &row,
		      "deleted the credential %s", name);
	return 0;
}

const struct command cmd_credential_add = {
	.name = "credential add",
	.args = "NAME",
	.help = "store a secret in the credentials directory",
	.about = "The secret comes from --key-file, from --key-env, or from "
		 "standard input; on a terminal it is not shown. It becomes "
		 "the file credentials/NAME in the home, with mode 0600. "
		 "Definitions and channels refer to it by its name.\n"
		 "\n"
		 "Examples:\n"
		 "  skep credential add openai --key-env OPENAI_API_KEY\n"
		 "  skep agent set helper --key-file openai",
	.needs = NEEDS_HOME,
	.arguments = ARGUMENTS({"NAME", "name of the file: letters, digits, "
					"'-', '_' and '.'"}),
	.options = OPTIONS(
		OPTION(FILE, 0, "key-file", "FILE",
		       "read the secret from a file; '-' reads standard "
		       "input"),
		OPTION(TEXT, 0, "key-env", "VARIABLE",
		       "read the secret from a variable of the environment"),
		FLAG(0, "replace", "replace a stored secret")),
	.run = credential_add,
};

const struct command cmd_credential_ls = {
	.name = "credential ls",
	.help = "list the names of stored secrets",
	.needs = NEEDS_HOME,
	.options = OPTIONS(OPT_QUIET),
	.run = credential_ls,
};

const struct command cmd_credential_rm = {
	.name = "credential rm",
	.args = "NAME",
	.help = "delete a stored secret",
	.needs = NEEDS_HOME,
	.arguments = ARGUMENTS(
		{"NAME", "name of a credential; 'skep credential ls' lists "
			 "them"}),
	.options = OPTIONS(OPT_YES("delete without asking")),
	.run = credential_rm,
};
