/* schedule add and set. */
#include "cli/remote.h"
#include "cli/schedule/schedule_cli.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/run.h"
#include "schema/control/schedule.h"
#include "schema/vocab.h"

#include <string.h>

#define BODY_MAX (4u << 20)

/* A time of the row, as the API takes it. */
static void put_time(struct buf *b, const char *name, int64_t ms)
{
	char text[CLOCK_TEXT];

	if (ms != OPT_NONE)
		json_put_text(b, name, clock_text(ms, text));
}

/* The text of an option, "" for none; otherwise the value of the row. */
static const char *text_or(struct cli *cli, const char *option,
			   const char *other)
{
	const char *given = cli_option(cli, option);

	if (!given)
		return other;
	return *given ? given : NULL;
}

static void put_time_or(struct cli *cli, struct buf *b, const char *option,
			int64_t other)
{
	const char *given = cli_option(cli, option);

	if (given && *given)
		json_put_text(b, option, given);
	else if (!given)
		put_time(b, option, other);
}

static int read_prompt(struct cli *cli, const char *other, const char **out,
		       struct err *e)
{
	struct buf b = BUF_MAX(RUN_PROMPT_MAX);
	const char *word = cli_option(cli, "prompt");
	int rc = 0;

	*out = word ? word : other;
	if (word && !strcmp(word, "-")) {
		rc = cli_read_text("-", "the prompt", &b, e);
		*out = arena_text(&cli->arena, b.p);
	}
	buf_fini(&b);
	return rc;
}

/* A new rule replaces the old one, of whichever kind. */
static void put_rule(struct cli *cli, struct buf *b,
		     const struct schedule_row *row)
{
	const char *cron = cli_option(cli, "cron"), *at = cli_option(cli, "at");
	int64_t every = cli_number(cli, "every", OPT_NONE);

	if (!cron && !at && every == OPT_NONE) {
		json_put_text(b, "cron", row->cron);
		json_put_opt(b, "every_ms", row->every_ms);
		put_time(b, "at", row->at);
		return;
	}
	json_put_text(b, "cron", cron);
	json_put_opt(b, "every_ms", every);
	json_put_text(b, "at", at);
}

static void put_policies(struct cli *cli, struct buf *b,
			 const struct schedule_row *row)
{
	const char *missed = text_or(cli, "missed", row->missed);
	int64_t window = cli_number(cli, "window", OPT_NONE);

	if (window == OPT_NONE && !cli_option(cli, "missed"))
		window = row->window_ms;
	else if (window != OPT_NONE && !cli_option(cli, "missed"))
		missed = "window";
	json_put_text(b, "missed", missed);
	json_put_opt(b, "window_ms", window);
	json_put_text(b, "overlap", text_or(cli, "overlap", row->overlap));
	json_put_int(b, "jitter_ms", cli_number(cli, "jitter", row->jitter_ms));
}

static int put_work(struct cli *cli, struct buf *b,
		    const struct schedule_row *row, struct err *e)
{
	const char *prompt;

	if (read_prompt(cli, row->prompt, &prompt, e))
		return -1;
	json_put_text(b, "agent", text_or(cli, "agent", row->agent));
	json_put_text(b, "prompt", prompt);
	json_put_text(b, "session", text_or(cli, "session", row->session));
	json_put_text(b, "workspace",
		      text_or(cli, "workspace", row->workspace));
	json_put_opt(b, "timeout_ms",
		     cli_number(cli, "timeout", row->timeout_ms));
	return 0;
}

static int make_body(struct cli *cli, struct buf *b,
		     const struct schedule_row *row, struct err *e)
{
	int rc;

	json_begin_object(b);
	put_rule(cli, b, row);
	json_put_text(b, "zone", text_or(cli, "zone", row->zone));
	put_time_or(cli, b, "start", row->starts_at);
	put_time_or(cli, b, "end", row->ends_at);
	put_policies(cli, b, row);
	rc = put_work(cli, b, row, e);
	json_put_bool(b, "paused", row->is_paused || cli_flag(cli, "paused"));
	json_end_object(b);
	return rc ? -1 : buf_ok(b, "the request", e);
}

static int send_schedule(struct cli *cli, const struct schedule_row *row,
			 const char *did, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	const char *path = schedule_path(cli, name, NULL, e);
	struct buf body = BUF_MAX(BODY_MAX);
	cJSON *made = NULL;
	struct schedule_row now;
	int rc = path ? make_body(cli, &body, row, e) : -1;

	if (rc == 0) {
		made = remote_call(cli, "PUT", path, body.p, e);
		rc = made ? 0 : -1;
	}
	if (rc == 0) {
		char next[CLOCK_TEXT] = "never";

		remote_read(made, &schedule_row_shape, &now);
		if (now.slot != OPT_NONE)
			clock_text(now.slot, next);
		remote_result(cli, made, "%s schedule %s: %s, next slot %s",
			      did, name, schedule_rule_text(cli, &now), next);
	}
	cJSON_Delete(made);
	buf_fini(&body);
	return rc;
}

static int schedule_add(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct schedule_row row = {.every_ms = OPT_NONE,
				   .at = OPT_NONE,
				   .zone = "UTC",
				   .starts_at = OPT_NONE,
				   .ends_at = OPT_NONE,
				   .missed = "once",
				   .window_ms = OPT_NONE,
				   .overlap = "skip",
				   .action = "run",
				   .timeout_ms = OPT_NONE};
	struct schedule_get_in key = {name};
	struct schedule_row old;
	int found = sql_get(cli->control, Q_SCHEDULE_GET, &key, &old,
			    &cli->arena, e);

	if (found > 0)
		return err_set(e, ERR_CONFLICT,
			       "schedule %s exists; 'skep schedule set %s' "
			       "changes it",
			       name, name);
	return found < 0 ? -1 : send_schedule(cli, &row, "added", e);
}

static int schedule_set(struct cli *cli, struct err *e)
{
	struct schedule_row row;

	if (schedule_get(cli->control, cli_arg(cli, 0), &row, &cli->arena, e))
		return -1;
	return send_schedule(cli, &row, "changed", e);
}

#define RULE_OPTIONS                                                           \
	OPTION(TEXT, 0, "cron", "FIELDS",                                      \
	       "fire by five cron fields (minute, hour, day of month, month, " \
	       "day of week), or @hourly, @daily, @weekly, @monthly, "         \
	       "@yearly"),                                                     \
		OPTION(MILLIS, 0, "every", "TIME",                             \
		       "fire at this interval, starting at --start or now"),   \
		OPTION(TEXT, 0, "at", "WHEN",                                  \
		       "fire once, for example at 2026-12-24T18:00"),          \
		OPTION(TEXT, 'z', "zone", "ZONE",                              \
		       "time zone, such as Europe/Berlin (default UTC)"),      \
		OPTION(MILLIS, 0, "jitter", "TIME",                            \
		       "start each slot up to this much later"),               \
		OPTION(TEXT, 0, "start", "WHEN", "no slot before this time"),  \
		OPTION(TEXT, 0, "end", "WHEN", "no slot after this time")

#define POLICY_OPTIONS                                                     \
	OPTION(WORD, 0, "missed", vocab_control_schedule_missed,           \
	       "what to do with slots that passed while skepd was down: "  \
	       "start the newest one, none, or the newest one within "     \
	       "--window (default once)"),                                 \
		OPTION(MILLIS, 0, "window", "TIME",                        \
		       "start a missed slot up to this much later"),       \
		OPTION(WORD, 0, "overlap", vocab_control_schedule_overlap, \
		       "what to do if the previous slot is still active "  \
		       "(default skip)")

#define WORK_OPTIONS                                                       \
	OPT_AGENT("agent that the schedule runs"),                         \
		OPTION(TEXT, 'p', "prompt", "PROMPT",                      \
		       "task for the agent; '-' reads standard input"),    \
		OPTION(TEXT, 's', "session", "SESSION",                    \
		       "continue this session (default: each run has its " \
		       "own)"),                                            \
		OPTION(TEXT, 0, "workspace", "NAME",                       \
		       "work in this namespace of the agent"),             \
		OPTION(MILLIS, 0, "timeout", "TIME",                       \
		       "stop a run after this time"),                      \
		FLAG(0, "paused", "do not fire until 'skep schedule resume'")

const struct command cmd_schedule_add = {
	.name = "schedule add",
	.args = "SCHEDULE",
	.help = "create a schedule that starts runs at points in time",
	.about = "A schedule fires by cron fields, at a fixed interval, or "
		 "once. A point in time at which it fires is a slot. Each slot "
		 "fires at most once, even if skepd is killed.\n"
		 "\n"
		 "When clocks are put forward, a cron time that does not exist "
		 "moves with them: 02:30 becomes 03:30. When they are put "
		 "back, a time that exists twice counts the first time. If the "
		 "hour is '*', the expression means an interval and is "
		 "not adjusted.\n"
		 "\n"
		 "Examples:\n"
		 "  skep schedule add report --cron '0 9 * * 1-5' --zone "
		 "Europe/Berlin --agent ada --prompt 'Write the daily report'\n"
		 "  skep schedule add poll --every 15m --agent ada --prompt "
		 "'Check the inbox' --overlap skip\n"
		 "  skep schedule add party --at 2026-12-31T23:59 --zone "
		 "Europe/Berlin --agent ada --prompt 'Send the wishes'",
	.needs = NEEDS_SUPERVISOR | NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS({"SCHEDULE", "name of the new schedule"}),
	.options = OPTIONS(RULE_OPTIONS, POLICY_OPTIONS, WORK_OPTIONS),
	.run = schedule_add,
};

const struct command cmd_schedule_set = {
	.name = "schedule set",
	.args = "SCHEDULE",
	.help = "change a schedule; its log is kept",
	.about = "Options that are not given keep their value; an empty text "
		 "removes a value. A new rule (--cron, --every, --at) replaces "
		 "the old one. A slot that is in the log does not fire again.",
	.needs = NEEDS_SUPERVISOR | NEEDS_CONTROL_READ,
	.arguments = ARGUMENTS(SCHEDULE_NAME),
	.options = OPTIONS(RULE_OPTIONS, POLICY_OPTIONS, WORK_OPTIONS),
	.run = schedule_set,
};
