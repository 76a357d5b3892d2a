#include "cli/agent_edit.h"

#include "base/file.h"
#include "schema/control.h"
#include "schema/registry.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int unlink_if_there(const char *path, struct err *e)
{
	if (unlink(path) && errno != ENOENT)
		return err_errno_set(e, "%s", path);
	return 0;
}

/* The WAL goes first: a database without its WAL is still a database. */
static int unlink_database(struct cli *cli, const char *path, struct err *e)
{
	static const char *const ends[] = {"-wal", "-shm", ""};

	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (unlink_if_there(
			    arena_printf(&cli->arena, "%s%s", path, ends[i]),
			    e))
			return -1;
	return 0;
}

static int unlink_files(struct cli *cli, const char *name, struct err *e)
{
	static const char *const files[] = {"agent.json", "prompt.md"};
	struct home_path dir = home_join(&cli->home, HOME_AGENTS, name);

	if (cli->file.path && unlink_database(cli, cli->file.path, e))
		return -1;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		if (unlink_if_there(arena_printf(&cli->arena, "%s/%s", dir.text,
						 files[i]),
				    e))
			return -1;
	rmdir(dir.text); /* stays when something else is in it */
	return 0;
}

static int remove_agent(struct cli *cli, void *name, struct err *e)
{
	if (agents_remove(cli->control, name, e))
		return -1;
	if (!cli_flag(cli, "purge"))
		return 0;
	if (registry_find(cli->control, name, &cli->file, &cli->arena, e) < 0 ||
	    registry_forget(cli->control, name, e))
		return -1;
	return control_audit(cli->control, NULL, "agent.purge", name, NULL, e);
}

static int agent_rm(struct cli *cli, struct err *e)
{
	char *name = arena_text(&cli->arena, cli_arg(cli, 0));
	bool gone = cli_flag(cli, "purge");
	struct cli_act act = {.method = gone ? NULL : "DELETE",
			      .path = agent_url(cli, name, ""),
			      .direct = remove_agent,
			      .arg = name};
	struct home_path file;

	file = home_join(&cli->home, HOME_AGENTS,
			 arena_printf(&cli->arena, "%s/agent.json", name));
	if (!gone && file_exists(file.text))
		return err_set(e, ERR_CONFLICT,
			       "agent '%s' is defined by %s: remove that file "
			       "first, or everything with --purge",
			       name, file.text);
	/* rows first: files without a row are found again, a row without its
	 * file would be a loss */
	if (cli_act(cli, &act, e) || (gone && unlink_files(cli, name, e)))
		return -1;
	output_note(&cli->out,
		    gone ? "removed %s and its data"
			 : "removed %s; its data stays, --purge removes that "
			   "too",
		    name);
	return 0;
}

const struct command cmd_agent_rm = {
	.name = "agent rm",
	.args = "NAME",
	.help = "remove an agent's definition, and with --purge its data",
	.about = "Versions stay, so that old runs can still say what they ran "
		 "with.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = (const struct option_spec[]){{"purge", NULL,
						 "its database and files too",
						 OPTION_FLAG},
						{NULL, NULL, NULL,
						 OPTION_FLAG}},
	.run = agent_rm,
};
