#include "cli/cli.h"

#include "lib/json/json.h"
#include "schema/agent/transcript/event_body.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent/transcript/writer.h"

#include <inttypes.h>
#include <string.h>

#define APPENDED(F, S) \
	F(S, text, session) F(S, i64, seq) F(S, text, id) F(S, bool, repeated)
SHAPE_DECLARE(appended, APPENDED);
SHAPE_DEFINE(appended, APPENDED);

/* The body that was given as JSON, or one with the text. */
static int make_body(struct cli *cli, struct buf *body, struct err *e)
{
	const char *json = cli_option(cli, "body"), *text = cli_arg(cli, 1);
	const char *role = cli_option(cli, "role");
	struct buf input = BUF_MAX(EVENT_BODY_MAX);

	if ((json != NULL) == (text != NULL))
		return err_set(e, ERR_USAGE, "give either TEXT or --body");
	if (json && !strcmp(json, "-"))
		return cli_read("-", body, e);
	if (json) {
		buf_adds(body, json);
		return 0;
	}
	if (!strcmp(text, "-") &&
	    cli_read_text("-", "the message", &input, e)) {
		buf_fini(&input);
		return -1;
	}
	json_begin_object(body);
	json_put_text(body, "role", role ? role : "user");
	json_put_text(body, "content", strcmp(text, "-") ? text : input.p);
	json_end_object(body);
	buf_fini(&input);
	return 0;
}

static int check_body(struct cli *cli, const struct buf *body, struct err *e)
{
	const char *type = cli_option(cli, "type");

	if (buf_ok(body, "the body", e))
		return -1;
	return event_body_check_text(type ? type : "message", body->p, body->n,
				     e);
}

static int append_event(struct cli *cli, const char *body, struct err *e)
{
	const char *type = cli_option(cli, "type");
	struct event_new ev = {.type = type ? type : "message",
			       .body = body,
			       .key = cli_option(cli, "key"),
			       .parent = WRITER_LEAF};
	struct appended out = {.session = cli_arg(cli, 0)};
	struct event_ref ref;
	struct event_id id;
	struct writer w;

	if (writer_open(&w, &cli->agent, cli_arg(cli, 0), NULL, e) ||
	    writer_append(&w, &ev, &ref, e))
		return -1;
	id = event_id_of(w.sid, ref.seq);
	out.seq = ref.seq;
	out.id = id.text;
	out.repeated = ref.repeated;
	output_result(&cli->out, &appended_shape, &out,
		      out.repeated ? "session %s already has event %" PRId64
				     " with this key"
				   : "appended to session %s as event %" PRId64,
		      out.session, out.seq);
	return 0;
}

static int session_append(struct cli *cli, struct err *e)
{
	struct buf body = BUF_MAX(EVENT_BODY_MAX);
	int rc = make_body(cli, &body, e);

	if (!rc)
		rc = check_body(cli, &body, e);
	if (!rc)
		rc = append_event(cli, body.p, e);
	buf_fini(&body);
	return rc;
}

const struct command cmd_session_append = {
	.name = "session append",
	.args = "SESSION [TEXT]",
	.help = "append an event to a session without starting a run",
	.about = "The session is created if it does not exist. With --key, "
		 "repeating the command appends nothing and prints the number "
		 "of the existing event; different content with the same key "
		 "is a conflict.",
	.needs = NEEDS_AGENT_MADE,
	.arguments = ARGUMENTS(
		{"SESSION", "key of the session"},
		{"TEXT", "text of the message; '-' reads standard input; "
			 "--body is an alternative"}),
	.options = OPTIONS(
		OPTION(TEXT, 't', "type", "TYPE",
		       "type of the event (default message)"),
		OPTION(TEXT, 'r', "role", "ROLE",
		       "role of the message (default user)"),
		OPTION(TEXT, 'b', "body", "JSON",
		       "body of the event instead of TEXT; '-' reads "
		       "standard input"),
		OPTION(TEXT, 'k', "key", "KEY", "idempotency key")),
	.run = session_append,
};
