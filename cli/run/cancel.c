#include "cli/remote.h"
#include "cli/run/run_select.h"
#include "cli/run/run_view.h"
#include "lib/json/json.h"
#include "schema/control/agent.h"

#include <string.h>

static int request_cancel(struct cli *cli, const char *id, struct err *e)
{
	const char *why = cli_option(cli, "reason");
	const char *body = why ? remote_text(cli, "reason", why) : NULL;
	const char *path = remote_path(cli, ID_RUN, id, "cancel", e);
	cJSON *answer = path ? remote_call(cli, "POST", path, body, e) : NULL;

	if (!answer)
		return -1;
	if (!cli_flag(cli, "wait"))
		remote_done(cli, answer);
	cJSON_Delete(answer);
	return 0;
}

/* The state in which the run ended: it may have finished before the request. */
static int wait_for_end(struct cli *cli, const char *id, struct err *e)
{
	struct run_view wait = {.id = id, .follow = true, .quiet = true};
	struct run_row row;

	if (run_view_print(cli, &wait, e) || run_view_get(cli, id, &row, e))
		return -1;
	if (cli->out.json)
		output_object(&cli->out, &run_row_shape, &row);
	else if (!strcmp(row.state, "cancelled"))
		output_note(&cli->out, "%s: cancelled", id);
	else
		output_note(&cli->out, "%s: not cancelled, it had %s", id,
			    !strcmp(row.state, "timed_out") ? "timed out"
							    : row.state);
	return 0;
}

/* All are requested before it waits for the first. A run that cannot be
 * cancelled does not affect the others. */
static int cancel_each(struct cli *cli, struct err *e)
{
	struct run_ids runs;
	struct err later;
	int rc;

	if (run_select(cli, cli->args.nwords,
		       "queued starting running paused stopping", &runs, e))
		return -1;
	rc = run_each(cli, &runs, request_cancel, e);
	if (cli_flag(cli, "wait") &&
	    run_each(cli, &runs, wait_for_end, rc ? &later : e))
		rc = -1;
	return rc;
}

/* --- all runs that match ------------------------------------------------ */

struct selection {
	const char *agent, *session, *tag; /* or NULL */
	bool all;
};

static int read_selection(struct cli *cli, struct selection *v, struct err *e)
{
	struct agent_row agent;

	*v = (struct selection){.agent = cli_option(cli, "agent"),
				.session = cli_option(cli, "session"),
				.tag = cli_option(cli, "tag"),
				.all = cli_flag(cli, "all")};
	if (v->session && !v->agent) {
		if (agents_get_default(cli->control, &agent, &cli->arena, e))
			return -1;
		v->agent = agent.name;
	}
	if (v->all && (v->agent || v->tag))
		return err_set(e, ERR_USAGE,
			       "--all cannot be combined with --agent, "
			       "--session or --tag");
	return 0;
}

static const char *selection_body(struct cli *cli, const struct selection *v)
{
	struct buf b = BUF_MAX(64u << 10);
	const char *text;

	json_begin_object(&b);
	if (v->agent)
		json_put_text(&b, "agent", v->agent);
	if (v->session)
		json_put_text(&b, "session", v->session);
	if (v->tag)
		json_put_text(&b, "tag", v->tag);
	if (v->all)
		json_put_bool(&b, "all", true);
	if (cli_option(cli, "reason"))
		json_put_text(&b, "reason", cli_option(cli, "reason"));
	json_end_object(&b);
	text = arena_text(&cli->arena, b.p);
	buf_fini(&b);
	return text;
}

/* Waits for the runs that are being ended. Queued runs have ended already. */
static int wait_for_selection(struct cli *cli, const struct selection *v,
			      struct err *e)
{
	cJSON *json = remote_call(cli, "GET", "/v1/active", NULL, e);
	const cJSON *item;
	int rc = json ? 0 : -1;

	cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "items"))
	{
		const char *state = json_text(item, "state", "");
		bool ends = !strcmp(state, "stopping") ||
			    !strcmp(state, "ending");

		if (v->agent && strcmp(v->agent, json_text(item, "agent", "")))
			continue;
		if (rc == 0 && ends)
			rc = wait_for_end(cli, json_text(item, "id", ""), e);
	}
	cJSON_Delete(json);
	return rc;
}

static int cancel_selection(struct cli *cli, struct err *e)
{
	struct selection v;
	cJSON *answer;

	if (read_selection(cli, &v, e))
		return -1;
	if (v.all && cli_confirm_action(cli, "cancel all runs of this home", e))
		return -1;
	answer = remote_call(cli, "POST", "/v1/runs/cancel",
			     selection_body(cli, &v), e);
	if (!answer)
		return -1;
	remote_done(cli, answer);
	cJSON_Delete(answer);
	return cli_flag(cli, "wait") ? wait_for_selection(cli, &v, e) : 0;
}

/* The supervisor selects by agent, session and tag in one transaction; states
 * and ages are selected here. */
static int cancel(struct cli *cli, struct err *e)
{
	bool in_one = cli_option(cli, "session") || cli_flag(cli, "all");

	if (in_one && cli_arg(cli, 0))
		return err_set(e, ERR_USAGE,
			       "name runs or select them by options, not both");
	if (in_one && (cli_option(cli, "state") || cli_option(cli, "older")))
		return err_set(e, ERR_USAGE,
			       "--state and --older cannot be combined with "
			       "--session or --all");
	if (!cli_arg(cli, 0) && !in_one && !run_select_given(cli))
		return err_set(e, ERR_USAGE,
			       "name a run, or select runs by --agent, "
			       "--session, --tag, --state, --older or --all");
	if (cli_arg(cli, 0) || cli_option(cli, "state") ||
	    cli_option(cli, "older"))
		return cancel_each(cli, e);
	return cancel_selection(cli, e);
}

const struct command cmd_cancel = {
	.name = "cancel",
	.args = "[RUN...]",
	.help = "cancel runs and their child runs",
	.about = "The transcript and the files written so far are kept. "
		 "Cancelling a run that has ended has no effect.\n"
		 "\n"
		 "Options that select runs apply to queued and active runs. "
		 "--agent, --session, --tag and --all cancel them in one "
		 "transaction, so no queued run starts in between.\n"
		 "\n"
		 "Example:\n"
		 "  skep cancel --agent coder --reason 'wrong branch'",
	.needs = NEEDS_SUPERVISOR | NEEDS_NO_SETTING,
	.options = OPTIONS(
		RUN_SELECT_OPTIONS,
		OPTION(TEXT, 's', "session", "SESSION",
		       "select the runs of this session"),
		OPT_ALL("cancel all runs of this home"),
		OPTION(TEXT, 'r', "reason", "TEXT", "record this reason"),
		FLAG('w', "wait",
		     "wait until no process of the runs is left, and print "
		     "the state in which each ended"),
		OPT_YES("do not ask for confirmation of --all")),
	.run = cancel,
};
