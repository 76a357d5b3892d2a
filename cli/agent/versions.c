/* agent diff and agent revert. */
#include "cli/agent/agent_edit.h"

#include "vfs/snapshot/udiff.h"

#include <inttypes.h>
#include <string.h>

#define INDENT 3 /* levels of a definition that get lines of their own */

int agent_get_version(struct cli *cli, const char *name, int64_t version,
		      struct agent_version_row *out, struct err *e)
{
	struct agent_version_get_in in = {name, version};
	int found = sql_get(cli->control, Q_AGENT_VERSION_GET, &in, out,
			    &cli->arena, e);

	if (found < 0)
		return -1;
	if (found)
		return 0;
	if (version == 0)
		return agents_missing(cli->control, name, e);
	return err_set(e, ERR_NOTFOUND,
		       "agent '%s' has no version %" PRId64
		       "; 'skep agent show %s --versions' lists them",
		       name, version, name);
}

static int print_difference(struct cli *cli, const struct agent_version_row *a,
			    const struct agent_version_row *b)
{
	struct buf old = BUF_MAX(8u * AGENT_TEXT_MAX);
	struct buf new = BUF_MAX(8u * AGENT_TEXT_MAX);
	struct buf out = BUF_MAX(32u * AGENT_TEXT_MAX);
	struct udiff d = {.path = a->agent};

	json_indent(&old, a->definition, INDENT);
	json_indent(&new, b->definition, INDENT);
	buf_addc(&old, '\n');
	buf_addc(&new, '\n');
	d.a = old.p;
	d.an = old.n;
	d.b = new.p;
	d.bn = new.n;
	if (strcmp(a->digest, b->digest) != 0)
		udiff(&d, &out);
	if (cli->out.json) {
		struct buf object = BUF_MAX(64u * AGENT_TEXT_MAX);

		json_begin_object(&object);
		json_put_text(&object, "agent", a->agent);
		json_put_int(&object, "from", a->version);
		json_put_int(&object, "to", b->version);
		json_put_text(&object, "diff", out.p ? out.p : "");
		json_end_object(&object);
		output_json(&cli->out, object.p);
		buf_fini(&object);
	} else if (out.n) {
		output_text(&cli->out, out.p, out.n);
	} else {
		output_note(&cli->out,
			    "versions %" PRId64 " and %" PRId64
			    " of agent %s do not differ",
			    a->version, b->version, a->agent);
	}
	buf_fini(&old);
	buf_fini(&new);
	buf_fini(&out);
	return 0;
}

static int agent_diff(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct agent_version_row a, b;
	int64_t from = cli_number(cli, "version", 0);

	if (agent_get_version(cli, name, cli_number(cli, "to", 0), &b, e))
		return -1;
	if (!from && b.version == 1) {
		output_note(&cli->out, "agent %s has only one version", name);
		return 0;
	}
	if (agent_get_version(cli, name, from ? from : b.version - 1, &a, e))
		return -1;
	return print_difference(cli, &a, &b);
}

const struct command cmd_agent_diff = {
	.name = "agent diff",
	.args = "AGENT",
	.help = "show what changed between two versions of an agent",
	.about = "Without options, the current version is compared with the "
		 "one before it.",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPTION(COUNT, 0, "version", "N",
		       "compare this version (default: the one before --to)"),
		OPTION(COUNT, 0, "to", "N",
		       "with this version (default: the current one)")),
	.run = agent_diff,
};

static int restore_row(struct cli *cli, const struct agent_version_row *v,
		       struct agent_row *row, struct err *e)
{
	struct agent_row now;
	cJSON *def;
	int rc;

	if (agents_get(cli->control, v->agent, &now, &cli->arena, e))
		return -1;
	def = json_parse_object("the version", v->definition,
				strlen(v->definition), e);
	*row = (struct agent_row){.name = now.name,
				  .workspace = "disk",
				  .is_enabled = true,
				  .is_default = now.is_default,
				  .spec = "{}",
				  .source = "command"};
	rc = def ? agent_from_json(row, "the version", def, &cli->arena, e)
		 : -1;
	cJSON_Delete(def);
	return rc;
}

static int agent_revert(struct cli *cli, struct err *e)
{
	const char *name = cli_arg(cli, 0);
	struct agent_version_row v, now;
	struct agent_row row;
	int64_t version = cli_number(cli, "version", 0);

	if (!version)
		return err_set(e, ERR_USAGE,
			       "agent revert needs --version N; 'skep agent "
			       "show %s --versions' lists the versions",
			       name);
	if (!cli->supervised &&
	    agents_sync(cli->control, &cli->home, name, e) < 0)
		return -1;
	if (agent_get_version(cli, name, version, &v, e) ||
	    restore_row(cli, &v, &row, e) || agent_refuse_files(cli, &row, e) ||
	    agent_store(cli, &row, e) ||
	    agent_get_version(cli, name, 0, &now, e))
		return -1;
	if (cli->out.json)
		return agent_print(cli, name, e);
	output_note(&cli->out,
		    "agent %s has the definition of version %" PRId64
		    " again, as version %" PRId64,
		    name, version, now.version);
	return 0;
}

const struct command cmd_agent_revert = {
	.name = "agent revert",
	.args = "AGENT",
	.help = "restore an earlier version of an agent, as a new version",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(OPTION(COUNT, 0, "version", "N",
				  "version to restore (required)")),
	.run = agent_revert,
};
