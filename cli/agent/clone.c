#include "cli/agent/agent_transfer.h"

#include "lib/base/id.h"
#include "lib/os/file.h"
#include "schema/control/agent_bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* An archive without a name: it disappears with this process. */
static int open_archive(struct cli *cli, struct err *e)
{
	struct home_path dir = home_path(&cli->home, HOME_BACKUPS);
	int fd;

	if (file_make_dir(dir.text, 0700, e))
		return -1;
	fd = open(dir.text, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? err_errno_set(e, "a temporary file in %s", dir.text)
		      : fd;
}

static int copy_agent(struct cli *cli, int fd, struct agent_import_sum *sum,
		      struct err *e)
{
	struct agent_export x = {.control = cli->control,
				 .home = &cli->home,
				 .agent = cli_arg(cli, 0),
				 .fd = fd,
				 .name = "the copy"};
	struct agent_source from = {
		.fd = fd, .archive = "the copy", .name = cli_arg(cli, 1)};
	struct agent_export_sum written;

	x.id = arena_text(&cli->arena, id_new(ID_BACKUP).text);
	if (agent_export(&x, &written, e))
		return -1;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno_set(e, "the copy");
	return agent_receive(cli, &from, sum, e);
}

static int agent_clone_command(struct cli *cli, struct err *e)
{
	struct agent_import_sum sum;
	int fd, rc;

	if (agent_bundle_check_name(cli->control, &cli->home, cli_arg(cli, 1),
				    e))
		return -1;
	fd = open_archive(cli, e);
	if (fd < 0)
		return -1;
	rc = copy_agent(cli, fd, &sum, e);
	close(fd);
	if (rc == 0)
		agent_print_import(cli, &sum, "created");
	return rc;
}

const struct command cmd_agent_clone = {
	.name = "agent clone",
	.args = "AGENT NEW",
	.help = "copy an agent with its sessions and files",
	.about = "The copy is made as by 'skep agent export' and 'skep agent "
		 "import --name NEW'. The original continues unchanged.",
	.needs = NEEDS_CONTROL_WRITE,
	.arguments = ARGUMENTS({"NEW", "name of the copy"}),
	.run = agent_clone_command,
};
