#include "cli/agent/agent_edit.h"
#include "cli/state/ops_cli.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "ops/backup/restore.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_TRIES 30 /* half a second each */

static void print_restore_summary(struct cli *cli, const struct restore_sum *s)
{
	char when[CLOCK_TEXT];

	if (cli->out.json) {
		output_object(&cli->out, &restore_sum_shape, s);
		return;
	}
	output_note(&cli->out, "%s: restored the state of %s, %lld %s",
		    cli_flag(cli, "activate") ? cli_option(cli, "agent")
					      : s->home,
		    clock_text(s->taken_at, when), (long long)s->agents,
		    text_plural(s->agents, "agent", "agents"));
	if (s->before)
		output_note(&cli->out, "the previous state is kept as %s",
			    s->before);
	output_note(&cli->out,
		    "runs: %lld queued, %lld finished, %lld interrupted and "
		    "marked as failed",
		    (long long)s->runs_queued, (long long)s->runs_ended,
		    (long long)s->runs_failed);
	if (s->messages_held)
		output_note(
			&cli->out,
			"%lld %s may have been sent already and %s held "
			"back; the audit log has the details",
			(long long)s->messages_held,
			text_plural(s->messages_held, "message", "messages"),
			text_plural(s->messages_held, "is", "are"));
}

/* --- one agent, into a home that may be in use -------------------------- */

struct swap {
	const char *agent, *path;
	struct agent_database_row row;
};

static int swap_row(struct cli *cli, void *arg, struct err *e)
{
	struct swap *w = arg;

	if (registry_swap(cli->control, w->agent, w->path, &w->row, &cli->arena,
			  e))
		return -1;
	return control_audit(cli->control, NULL, "agent.restore", w->agent,
			     NULL, e);
}

static int try_swap(struct cli *cli, struct swap *w, struct err *e)
{
	struct buf body = BUF_MAX(2 * PATH_MAX);
	struct cli_act act = {.method = "POST",
			      .path = arena_printf(&cli->arena,
						   "/v1/agents/%s/restore",
						   w->agent),
			      .direct = swap_row,
			      .arg = w};
	int rc;

	json_begin_object(&body);
	json_put_text(&body, "path", w->path);
	json_end_object(&body);
	act.body = body.p;
	rc = cli_act(cli, &act, e);
	buf_fini(&body);
	if (rc || cli->supervised)
		return rc;
	return registry_swap_files(&w->row, w->path,
				   registry_before(w->path, &cli->arena), e);
}

static int swap_in(struct cli *cli, struct swap *w, struct err *e)
{
	struct timespec half = {0, 500000000};
	int rc = -1;

	for (int i = 0; rc && i < BUSY_TRIES; i++) {
		rc = try_swap(cli, w, e);
		if (rc && e->code != ERR_BUSY)
			break;
		if (rc)
			nanosleep(&half, NULL);
	}
	if (rc)
		unlink(w->path);
	return rc;
}

static int check_options(struct cli *cli, const struct restore_options *options,
			 struct err *e)
{
	if (options->nagents != 1)
		return err_set(e, ERR_USAGE,
			       "--activate restores one agent: --agent AGENT "
			       "--activate");
	if (cli_flag(cli, "to"))
		return err_set(e, ERR_USAGE,
			       "--activate and --to cannot be used together");
	return 0;
}

/* The current or future path of the agent file. */
static const char *directory(struct cli *cli, const struct swap *w, bool found,
			     struct err *e)
{
	struct home_path usual = home_join(&cli->home, HOME_AGENTS, w->agent);
	char *dir = arena_text(&cli->arena, found ? w->row.path : usual.text);

	if (found)
		*strrchr(dir, '/') = '\0';
	return file_make_dir(dir, 0700, e) ? NULL : dir;
}

/* An agent that is unknown here, or has no file, gets an empty file and the
 * definition in the backup, so that there is a file to replace. After a kill at
 * this point, the same command continues. */
static int introduce(struct cli *cli, const struct swap *w,
		     struct agent_row *definition, struct err *e)
{
	struct agent_row known;
	struct err none;

	definition->is_default = false;
	definition->source = "command";
	if (agents_get(cli->control, w->agent, &known, &cli->arena, &none) &&
	    agent_store(cli, definition, e))
		return -1;
	cli->agent_name = w->agent;
	return cli_make_file(cli, e);
}

static int activate(struct cli *cli, struct restore_options *options,
		    struct restore_sum *out, struct err *e)
{
	struct swap w = {.agent = options->agents[0]};
	struct agent_row definition;
	const char *dir;
	int found;

	if (check_options(cli, options, e) || cli_open_control(cli, e))
		return -1;
	found = registry_find(cli->control, w.agent, &w.row, &cli->arena, e);
	if (found < 0 || !(dir = directory(cli, &w, found, e)))
		return -1;
	w.path = arena_printf(&cli->arena, "%s/restore-%s.sqlite", dir,
			      options->id);
	if (restore_agent(options, w.path, found ? NULL : &definition, out,
			  &cli->arena, e)) {
		(void)rmdir(dir); /* if it is empty: this command created it */
		return -1;
	}
	if (!found && introduce(cli, &w, &definition, e)) {
		unlink(w.path);
		return -1;
	}
	if (swap_in(cli, &w, e))
		return -1;
	out->before = registry_before(w.path, &cli->arena);
	return out->held ? ops_audit(cli, "restore.hold", w.agent, out->held, e)
			 : 0;
}

static int restore(struct cli *cli, struct err *e)
{
	struct home target = cli->home;
	struct restore_options options = {.name = cli_arg(cli, 0),
					  .home = &target};
	struct restore_sum sum;
	struct ops_bar bar;
	int rc;

	options.agents = ops_names(cli, "agent", &options.nagents, e);
	if (!options.agents || (cli_flag(cli, "to") &&
				home_find(&target, cli_option(cli, "to"), e)))
		return -1;
	options.id = arena_text(&cli->arena, id_new(ID_BACKUP).text);
	options.fd = ops_open_archive(options.name, &options.size, e);
	if (options.fd < 0)
		return -1;
	options.progress = ops_bar(&bar, cli, "unpacking");
	rc = cli_flag(cli, "activate")
		     ? activate(cli, &options, &sum, e)
		     : restore_home(&options, &sum, &cli->arena, e);
	ops_bar_end(&bar);
	close(options.fd);
	if (!rc)
		print_restore_summary(cli, &sum);
	return rc;
}

const struct command cmd_backup_restore = {
	.name = "backup restore",
	.args = "ARCHIVE",
	.help = "restore a home, or one agent, from a backup",
	.about = "The archive is unpacked next to the home, verified, "
		 "and migrated to the current schema before one "
		 "rename puts it in place. The previous home is kept "
		 "as HOME.before-ID. The command fails if the home is "
		 "in use.\n"
		 "\n"
		 "Runs that were active at the time of the backup "
		 "fail with the reason 'restored'. Messages that may "
		 "already have been sent are not sent again.\n"
		 "\n"
		 "With --activate, the database of one agent is "
		 "restored into the current home, which may be in "
		 "use. The agent must have no active runs. If the "
		 "home does not know the agent, its definition is "
		 "restored too.",
	.needs = NEEDS_CONFIG,
	.arguments = ARGUMENTS(
		{"ARCHIVE", "a backup; '-' reads standard input"}),
	.options = OPTIONS(
		OPTION(FILE, 0, "to", "DIR",
		       "restore into this home instead of the current one"),
		OPTION(MANY, 'a', "agent", "AGENT",
		       "restore only this agent; may be repeated"),
		FLAG(0, "activate", "restore one agent into the current home")),
	.run = restore,
};
