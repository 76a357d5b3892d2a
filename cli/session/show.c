#include "cli/run/event_view.h"

#include "lib/json/json.h"
#include "schema/agent/transcript/locator.h"
#include "schema/agent/transcript/session.h"

#include <inttypes.h>
#include <string.h>

/* Adds counts and costs, which the row does not contain. */
#define SESSION_FACTS(F, S)      \
	F(S, text, locator)      \
	F(S, i64, last_seq)      \
	F(S, i64, input_tokens)  \
	F(S, i64, output_tokens) \
	F(S, i64, cached_tokens) \
	F(S, i64, reasoning_tokens) F(S, i64, cost_nano)
SHAPE_DECLARE(session_facts, SESSION_FACTS);
SHAPE_DEFINE(session_facts, SESSION_FACTS);

static int collect(struct cli *cli, const struct session_row *row,
		   const struct history *h, struct session_facts *facts,
		   struct err *e)
{
	struct buf text = BUF_MAX(4096);
	struct usage_total u = {0};
	struct locator l = {.seq = 0};

	if (history_usage(&cli->agent, h, &u, e))
		return -1;
	snprintf(l.agent, sizeof l.agent, "%s", cli->agent_name);
	snprintf(l.session, sizeof l.session, "%s",
		 row->key ? row->key : row->sid);
	locator_text(&l, &text);
	*facts = (struct session_facts){arena_text(&cli->arena, text.p),
					history_last(h),
					u.input,
					u.output,
					u.cached,
					u.reasoning,
					u.cost_nano};
	buf_fini(&text);
	return 0;
}

static void print_facts(struct cli *cli, const struct session_row *row,
			const struct session_facts *facts)
{
	struct buf b = BUF_MAX(4u << 20);

	if (cli->out.json) {
		json_begin_object(&b); /* both as one object */
		json_put_fields(&b, &session_row_shape, row);
		json_put_fields(&b, &session_facts_shape, facts);
		json_end_object(&b);
		output_json(&cli->out, b.p);
	} else {
		output_object(&cli->out, &session_row_shape, row);
		output_object(&cli->out, &session_facts_shape, facts);
	}
	buf_fini(&b);
}

static int session_show(struct cli *cli, struct err *e)
{
	const char *view = cli_option(cli, "view");
	enum history_view v = view && !strcmp(view, "log")     ? HISTORY_LOG
			      : view && !strcmp(view, "model") ? HISTORY_MODEL
							       : HISTORY_PATH;
	struct session_facts facts;
	struct session_row row;
	struct history h;

	if (session_need(&cli->agent, cli_arg(cli, 0), &row, &cli->arena, e) ||
	    history_load(&cli->agent, row.id, v, &h, &cli->arena, e))
		return -1;
	if (!cli_flag(cli, "events")) {
		if (collect(cli, &row, &h, &facts, e))
			return -1;
		print_facts(cli, &row, &facts);
		return 0;
	}
	if (h.summary)
		output_note(&cli->out, "summary up to %" PRId64 ":\n%s",
			    h.summary_upto, h.summary);
	return event_print_all(cli, &h, cli_number(cli, "after", 0), e);
}

const struct command cmd_session_show = {
	.name = "session show",
	.args = "SESSION...",
	.each = true,
	.help = "show a session, or its transcript with --events",
	.needs = NEEDS_AGENT_FILE,
	.options = OPTIONS(
		FLAG('e', "events", "print the events with their parts"),
		OPTION(WORD, 0, "view", "path|log|model",
		       "visible events (path, the default), all events "
		       "(log), or the input of the model (model)"),
		OPTION(INT, 0, "after", "SEQ",
		       "print only events after this sequence number")),
	.run = session_show,
};
