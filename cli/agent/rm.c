#include "cli/agent/agent_edit.h"

#include "lib/os/file.h"
#include "schema/control/agent_delete.h"

struct channel_deletion {
	const char *name;
	bool purge;
	const char *path; /* path of the database to be deleted */
};

static int remove_agent(struct cli *cli, void *arg, struct err *e)
{
	struct channel_deletion *r = arg;

	if (!r->purge)
		return agents_remove(cli->control, r->name, e);
	return agent_delete_rows(cli->control, r->name, &r->path, &cli->arena,
				 e);
}

static int agent_rm(struct cli *cli, struct err *e)
{
	struct channel_deletion r = {.name = cli_arg(cli, 0),
				     .purge = cli_flag(cli, "purge")};
	struct cli_act act = {
		.method = "DELETE",
		.path = agent_url(cli, r.name, r.purge ? "?purge=true" : ""),
		.direct = remove_agent,
		.arg = &r};
	struct home_path file = home_join(
		&cli->home, HOME_AGENTS,
		arena_printf(&cli->arena, "%s/agent.json", r.name));

	if (!r.purge && file_exists(file.text))
		return err_set(e, ERR_CONFLICT,
			       "agent '%s' is defined by %s; delete this "
			       "file first, or delete the agent with all "
			       "its data with --purge",
			       r.name, file.text);
	if (cli_confirm(cli,
			arena_printf(&cli->arena,
				     r.purge ? "agent '%s' with its sessions "
					       "and files"
					     : "the definition of agent '%s'",
				     r.name),
			e))
		return -1;
	if (cli_act(cli, &act, e) ||
	    (r.purge && !cli->supervised &&
	     agent_delete_files(&cli->home, r.name, r.path, e)))
		return -1;
	output_note(&cli->out,
		    r.purge ? "removed %s and its data"
			    : "removed %s; its data is kept (--purge "
			      "deletes it)",
		    r.name);
	return 0;
}

const struct command cmd_agent_rm = {
	.name = "agent rm",
	.args = "AGENT...",
	.each = true,
	.help = "delete the definition of an agent",
	.about = "The database of the agent is kept unless --purge is given. "
		 "Old versions of the definition are kept because finished "
		 "runs refer to them. On a terminal, the command asks for "
		 "confirmation.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(
		FLAG(0, "purge",
		     "delete the database and the files of the agent too"),
		OPT_YES("do not ask for confirmation")),
	.run = agent_rm,
};
