/* Paths, programs and files of a definition, as this user sees them. */
#include "cli/agent/agent_edit.h"

#include "lib/base/text.h"
#include "lib/os/program_path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A definition in a file must be changed there, since the file overrides the
 * stored definition. */
int agent_refuse_files(struct cli *cli, const struct agent_row *row,
		       struct err *e)
{
	struct agent_row filed = *row;
	struct buf mine = BUF_MAX(4u * AGENT_TEXT_MAX);
	struct buf theirs = BUF_MAX(4u * AGENT_TEXT_MAX);
	int rc = agent_read_files(&cli->home, row->name, &filed, &cli->arena,
				  e);

	if (rc > 0) {
		agent_to_json(row, &mine);
		agent_to_json(&filed, &theirs);
		rc = strcmp(mine.p, theirs.p) == 0
			     ? 0
			     : err_set(e, ERR_CONFLICT,
				       "agent '%s' is defined by files in %s; "
				       "edit "
				       "these files instead",
				       row->name,
				       home_join(&cli->home, HOME_AGENTS,
						 row->name)
					       .text);
	}
	buf_fini(&mine);
	buf_fini(&theirs);
	return rc;
}

const char *agent_path_option(struct cli *cli, struct err *e)
{
	const char *path = cli_option(cli, "path");
	char full[PATH_MAX], here[PATH_MAX];
	struct stat st;

	if (realpath(path, full) && stat(full, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return arena_text(&cli->arena, full);
		err_set(e, ERR_INVALID, "--path: %s is not a directory",
			quoted(path).text);
		return NULL;
	}
	if (!cli_flag(cli, "force")) {
		err_set(e, ERR_NOTFOUND,
			"--path: there is no directory %s; create it, or use "
			"--force if it will exist later",
			quoted(path).text);
		return NULL;
	}
	if (path[0] == '/')
		return path;
	return getcwd(here, sizeof here)
		       ? arena_printf(&cli->arena, "%s/%s", here, path)
		       : path;
}

/* Does the agent work in a directory of the user? Then its command is relative
 * to that. */
static bool has_path(struct cli *cli, const struct agent_row *row)
{
	struct err ignored;
	cJSON *spec = row->spec ? json_parse("spec", row->spec,
					     strlen(row->spec), &ignored)
				: NULL;
	bool has = cli_flag(cli, "path") || json_text(spec, "path", NULL);

	for (int i = 0; cli_many(cli, "set", i); i++)
		if (!strncmp(cli_many(cli, "set", i), "path=", 5))
			has = true;
	cJSON_Delete(spec);
	return has;
}

const char *agent_command_word(struct cli *cli, const struct agent_row *row,
			       const char *word, bool is_first)
{
	char full[PATH_MAX];
	struct stat st;

	if (word[0] == '/' || word[0] == '-' || !*word ||
	    (is_first && !strchr(word, '/')) || has_path(cli, row) ||
	    !realpath(word, full) || stat(full, &st) || !S_ISREG(st.st_mode))
		return word;
	return arena_text(&cli->arena, full);
}

/* --- what must exist --------------------------------------------------- */

static int check_program(struct cli *cli, const struct agent_row *row,
			 const cJSON *def, struct err *e)
{
	const cJSON *config = json_member(def, "config");
	const char *name = cJSON_GetStringValue(
		cJSON_GetArrayItem(json_member(config, "command"), 0));
	const char *list = json_text(json_member(config, "env"), "PATH", NULL);
	const char *dir = json_text(def, "path", NULL);

	if (!name)
		return 0;
	if (!strchr(name, '/')) {
		if (program_in_path(name, list))
			return 0;
		return err_set(e, ERR_NOTFOUND,
			       "there is no program '%s' in %s; install it, "
			       "or use --force if it will be installed later",
			       quoted(name).text,
			       list ? "the PATH of config.env" : "PATH");
	}
	/* the files of a namespace, and of a new workspace, come later */
	if (name[0] != '/' && (!dir || strcmp(row->workspace, "disk") != 0))
		return 0;
	if (program_is_file(name[0] == '/' ? name
					   : arena_printf(&cli->arena, "%s/%s",
							  dir, name)))
		return 0;
	return err_set(e, ERR_NOTFOUND,
		       "%s%s%s is not an executable file; correct the command, "
		       "or use --force if it will exist later",
		       name[0] == '/' ? "" : dir, name[0] == '/' ? "" : "/",
		       quoted(name).text);
}

/* Only what this command sets: a stored path that has gone must not keep a user
 * from changing something else. */
static int check_path(struct cli *cli, const cJSON *def, struct err *e)
{
	const char *path = json_text(def, "path", NULL);
	bool given = false;
	struct stat st;

	for (int i = 0; cli_many(cli, "set", i); i++)
		given = given || !strncmp(cli_many(cli, "set", i), "path=", 5);
	if (!path || (!given && !cli_flag(cli, "from")) ||
	    (stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
		return 0;
	return err_set(e, ERR_NOTFOUND,
		       "path: there is no directory %s; create it, or use "
		       "--force if it will exist later",
		       quoted(path).text);
}

int agent_check_place(struct cli *cli, const struct agent_row *row,
		      struct err *e)
{
	struct buf text = BUF_MAX(4u * AGENT_TEXT_MAX);
	bool sets_command = cli_arg(cli, 1) || cli_flag(cli, "set") ||
			    cli_flag(cli, "from") || cli_flag(cli, "preset");
	cJSON *def = NULL;
	int rc = -1;

	agent_to_json(row, &text);
	if (!buf_ok(&text, "the definition", e))
		def = json_parse_object("the definition", text.p, text.n, e);
	if (def && cli_flag(cli, "force"))
		rc = 0;
	else if (def)
		rc = definition_check_needs(row->name, def, e) ||
				     check_path(cli, def, e) ||
				     (sets_command &&
				      check_program(cli, row, def, e))
			     ? -1
			     : 0;
	cJSON_Delete(def);
	buf_fini(&text);
	return rc;
}
