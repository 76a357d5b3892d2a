#include "cli/ops_cli.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/json.h"
#include "ops/restore.h"
#include "schema/control.h"
#include "schema/registry.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUSY_TRIES 30 /* half a second each */

static void say(struct cli *cli, const struct restore_sum *s)
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

static int activate(struct cli *cli, struct restore_ask *ask,
		    struct restore_sum *out, struct err *e)
{
	struct swap w = {.agent = ask->agents[0]};
	char *dir;
	int found;

	if (ask->nagents != 1)
		return err_set(e, ERR_USAGE,
			       "--activate is for one agent: "
			       "--agents NAME --activate");
	if (cli_flag(cli, "to"))
		return err_set(e, ERR_USAGE,
			       "--activate puts the agent into this home, --to "
			       "into another: give one of them");
	if (cli_open_control(cli, e))
		return -1;
	found = registry_find(cli->control, w.agent, &w.row, &cli->arena, e);
	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there is no file of agent '%s' here to put it "
			       "in place of: 'skep agent add', then 'skep "
			       "session ls --agent %s' makes one",
			       w.agent, w.agent);
	if (found < 0)
		return -1;
	dir = arena_text(&cli->arena, w.row.path);
	*strrchr(dir, '/') = '\0';
	w.path = arena_printf(&cli->arena, "%s/restore-%s.sqlite", dir,
			      ask->id);
	if (restore_agent(ask, w.path, out, &cli->arena, e) ||
	    swap_in(cli, &w, e))
		return -1;
	out->before = registry_before(w.path, &cli->arena);
	return out->held ? ops_audit(cli, "restore.hold", w.agent, out->held, e)
			 : 0;
}

static int restore(struct cli *cli, struct err *e)
{
	struct home target = cli->home;
	struct restore_ask ask = {.name = cli_arg(cli, 0), .home = &target};
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
		say(cli, &sum);
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
		 "must be over.",
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
