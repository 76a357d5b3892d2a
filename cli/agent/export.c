#include "cli/cli.h"

#include "lib/base/id.h"
#include "lib/base/text.h"
#include "lib/os/atomic_file.h"
#include "ops/agent/agent_archive.h"

#include <string.h>
#include <unistd.h>

static int export_to_file(struct agent_export *x, struct agent_export_sum *sum,
			  struct err *e)
{
	struct atomic_file f;
	int rc = atomic_file_create(&f, x->name, 0600, e);

	if (rc)
		return -1;
	x->fd = f.fd;
	rc = agent_export(x, sum, e);
	return atomic_file_end(&f, rc, e);
}

static int agent_export_command(struct cli *cli, struct err *e)
{
	const char *path = cli_arg(cli, 1);
	bool pipe = !strcmp(path, "-");
	struct agent_export x = {.control = cli->control,
				 .home = &cli->home,
				 .agent = cli_arg(cli, 0),
				 .zstd = cli_flag(cli, "zstd"),
				 .fd = STDOUT_FILENO,
				 .name = pipe ? "standard output" : path};
	struct agent_export_sum sum;
	char bytes[TEXT_HUMAN];

	if (pipe && isatty(STDOUT_FILENO))
		return err_set(e, ERR_USAGE,
			       "refusing to write an archive to a terminal; "
			       "use a file or a pipe");
	x.id = arena_text(&cli->arena, id_new(ID_BACKUP).text);
	if (pipe)
		return agent_export(&x, &sum, e);
	if (export_to_file(&x, &sum, e))
		return -1;
	if (cli->out.json)
		output_object(&cli->out, &agent_export_sum_shape, &sum);
	else
		output_note(&cli->out, "%s: agent %s, %lld %s, %s", path,
			    sum.agent, (long long)sum.versions,
			    text_plural(sum.versions, "version", "versions"),
			    text_human_bytes(sum.bytes, bytes));
	return 0;
}

const struct command cmd_agent_export = {
	.name = "agent export",
	.args = "AGENT FILE",
	.help = "write an agent to one archive",
	.about = "The archive contains the definition with all versions and "
		 "bindings, a snapshot of the database with its sessions and "
		 "namespaces, and the workspace directory. Runs continue in "
		 "the meantime. It never contains credentials. 'skep agent "
		 "import' reads it, also in another home or on another "
		 "machine.",
	.needs = NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(
		{"FILE", "the new archive; '-' writes to standard output"}),
	.options = OPTIONS(FLAG('z', "zstd", "compress the archive")),
	.run = agent_export_command,
};
