#include "cli/artifact/artifact_args.h"

#include "lib/base/id.h"
#include "lib/base/text.h"

int artifact_key_of(struct cli *cli, const char *name, struct artifact_key *key,
		    struct err *e)
{
	const char *run = cli_option(cli, "run");
	const char *call = cli_option(cli, "call");
	const char *owner = cli_option(cli, "owner");
	const char *kind = cli_option(cli, "kind");

	if (!run == !owner || (call && !run) || (kind && !owner))
		return err_set(e, ERR_USAGE,
			       "an artifact name needs its owner: --run RUN "
			       "[--call ID], or --owner TEXT [--kind TEXT]");
	*key = owner  ? artifact_key_named(owner, kind ? kind : "file", name)
	       : call ? artifact_key_tool(run, call, name)
		      : artifact_key_run(run, name);
	return 0;
}

int artifact_need(struct cli *cli, struct artifact_row *row, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct artifact_key key;
	int found;

	if (id_is(ID_ARTIFACT, name)) {
		found = artifact_get(cli->agent.db, name, row, &cli->arena, e);
	} else {
		if (artifact_key_of(cli, name, &key, e))
			return -1;
		found = artifact_find(cli->agent.db, &key, row, &cli->arena, e);
	}
	if (found < 0)
		return -1;
	return found ? 0
		     : err_set(e, ERR_NOTFOUND,
			       "agent '%s' has no artifact '%s'",
			       cli->agent_name, quoted(name).text);
}
