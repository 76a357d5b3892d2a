/* What came with an imported agent: agent held and agent confirm. */
#include "cli/list.h"
#include "cli/remote.h"
#include "lib/base/text.h"

static int agent_held(struct cli *cli, struct err *e)
{
	struct held_list_in in = {cli_arg(cli, 0), 0};
	struct cli_list l = {
		.cli = cli,
		.shape = &held_row_shape,
		.columns = "agent number kind body created_at",
		.none = "nothing is held",
	};

	return cli_list_query(&l, cli->control,
			      in.agent ? Q_HELD_LIST : Q_HELD_ALL,
			      in.agent ? &in : NULL, e);
}

const struct command cmd_agent_held = {
	.name = "agent held",
	.args = "[AGENT]",
	.help = "list bindings that wait for 'agent confirm'",
	.about = "'skep agent import' and 'skep agent clone' bring the "
		 "bindings of the original, but these do not "
		 "act: the original may still be in use.",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(OPT_QUIET),
	.run = agent_held,
};

static int agent_confirm(struct cli *cli, struct err *e)
{
	const char *agent = cli_arg(cli, 0), *word = cli_arg(cli, 1);
	bool discard = cli_flag(cli, "discard");
	struct buf b = BUF_MAX(1024);
	int64_t number = 0;
	cJSON *done;

	if (text_check_name("agent", agent, e) ||
	    (word && text_i64("NUMBER", word, 1, INT32_MAX, &number, e)))
		return -1;
	json_begin_object(&b);
	json_put_int(&b, "number", number);
	json_put_bool(&b, "discard", discard);
	json_end_object(&b);
	done = remote_call(
		cli, "POST",
		arena_printf(&cli->arena, "/v1/agents/%s/held", agent), b.p, e);
	buf_fini(&b);
	if (!done)
		return -1;
	remote_result(cli, done, "%s: %s", agent,
		      json_text(done, "note", "done"));
	cJSON_Delete(done);
	return 0;
}

const struct command cmd_agent_confirm = {
	.name = "agent confirm",
	.args = "AGENT [NUMBER]",
	.help = "put held bindings of an agent into effect",
	.about = "A binding that another agent has is moved to this one. All "
		 "of them take effect, or none.",
	.needs = NEEDS_SUPERVISOR,
	.arguments = ARGUMENTS({"NUMBER", "number of one of them; 'skep agent "
					  "held' prints it (default: all)"}),
	.options = OPTIONS(FLAG(0, "discard", "delete them instead")),
	.run = agent_confirm,
};
