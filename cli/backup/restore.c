#include "cli/agent/agent_edit.h"
#include "cli/state/ops_cli.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
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
	output_note(&cli->out, "%s is as it was at %s: %lld agents",
		    cli_flag(cli, "activate") ? cli_option(cli, "agents")
					      : s->home,
		    clock_text(s->taken_at, when), (long long)s->agents);
	if (s->before)
		output_note(&cli->out, "the way back: %s", s->before);
	output_note(&cli->out,
		    "runs: %lld wait, %lld were over, %lld had been in the "
		    "middle and have failed",
		    (long long)s->runs_queued, (long long)s->runs_settled,
		    (long long)s->runs_failed);
	if (s->messages_held)
		output_note(&cli->out,
			    "%lld messages are held, since they may have been "
			    "sent: the audit log names them",
			    (long long)s->messages_held);
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

	buf_adds(&body, "{\"path\":");
	json_add_string(&body, w->path, strlen(w->path));
	buf_addc(&body, '}');
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

static int check_options(struct cli *cli, const struct restore_options *ask,
			 struct err *e)
{
	if (ask->nagents != 1)
		return err_set(e, ERR_USAGE,
			       "--activate is for one agent: "
			       "--agents NAME --activate");
	if (cli_flag(cli, "to"))
		return err_set(e, ERR_USAGE,
			       "--activate puts the agent into this home, --to "
			       "into another: give one of them");
	return 0;
}

/* Where the agent's file is, or will be. */
static const char *directory(struct cli *cli, const struct swap *w, bool found,
			     struct err *e)
{
	struct home_path usual = home_join(&cli->home, HOME_AGENTS, w->agent);
	char *dir = arena_text(&cli->arena, found ? w->row.path : usual.text);

	if (found)
		*strrchr(dir, '/') = '\0';
	return file_make_dir(dir, 0700, e) ? NULL : dir;
}

/* An agent that this home does not know, or has no file of, gets an empty one,
 * and its definition of the backup: then there is something to put it in place
 * of. Killed after this, the same command again goes on. */
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

static int activate(struct cli *cli, struct restore_options *ask,
		    struct restore_sum *out, struct err *e)
{
	struct swap w = {.agent = ask->agents[0]};
	struct agent_row definition;
	const char *dir;
	int found;

	if (check_options(cli, ask, e) || cli_open_control(cli, e))
		return -1;
	found = registry_find(cli->control, w.agent, &w.row, &cli->arena, e);
	if (found < 0 || !(dir = directory(cli, &w, found, e)))
		return -1;
	w.path = arena_printf(&cli->arena, "%s/restore-%s.sqlite", dir,
			      ask->id);
	if (restore_agent(ask, w.path, found ? NULL : &definition, out,
			  &cli->arena, e)) {
		(void)rmdir(dir); /* if nothing is in it: it was made here */
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
	struct restore_options ask = {.name = cli_arg(cli, 0), .home = &target};
	struct restore_sum sum;
	struct ops_bar bar;
	int rc;

	ask.agents = ops_names(cli, "agents", &ask.nagents, e);
	if (!ask.agents || (cli_flag(cli, "to") &&
			    home_find(&target, cli_option(cli, "to"), e)))
		return -1;
	ask.id = arena_text(&cli->arena, id_new(ID_BACKUP).text);
	ask.fd = ops_open_archive(ask.name, &ask.size, e);
	if (ask.fd < 0)
		return -1;
	ask.tell = ops_bar(&bar, cli, "unpacking");
	rc = cli_flag(cli, "activate")
		     ? activate(cli, &ask, &sum, e)
		     : restore_home(&ask, &sum, &cli->arena, e);
	ops_bar_end(&bar);
	close(ask.fd);
	if (!rc)
		print_restore_summary(cli, &sum);
	return rc;
}

const struct command cmd_backup_restore = {
	.name = "backup restore",
	.args = "ARCHIVE",
	.help = "make a home of a backup, or bring back one agent",
	.about = "Everything is unpacked beside the home, checked, brought to "
		 "the schemas of this program,\nand only then put in place by "
		 "one rename. A home that was there stays beside it as\n"
		 "HOME.before-ID; to go back, put it in place again. A home in "
		 "use is refused.\nRuns that had been in the middle fail with "
		 "the reason 'restored', and no message that\nmay have been "
		 "sent is sent again. With --activate one agent's file is put "
		 "into this home,\nwhich may be running; runs of that agent "
		 "must be over. One that this\nhome does not know comes with "
		 "its definition.",
	.needs = NEEDS_CONFIG,
	.options =
		(const struct option_spec[]){
			{"to", "HOME", "another home than this one",
			 OPTION_FILE},
			{"agents", "NAMES",
			 "of agents only these, separated by commas",
			 OPTION_MANY},
			{"activate", NULL,
			 "one agent, into this home as it is now", OPTION_FLAG},
			{NULL, NULL, NULL, OPTION_FLAG}},
	.run = restore,
};
