#include "cli/list.h"
#include "lib/base/suggest.h"
#include "lib/base/text.h"
#include "schema/definition.h"

#include <string.h>

#define EXPLAINED(F, S)    \
	F(S, text, member) \
	F(S, text, value)  \
	F(S, text, default_value) F(S, text, drivers) F(S, text, meaning)
SHAPE_DECLARE(explained_member, EXPLAINED);
SHAPE_DEFINE(explained_member, EXPLAINED);

static struct explained_member describe(struct cli *cli,
					const struct definition_member *m)
{
	struct buf kind = BUF_MAX(600);
	struct explained_member row = {
		.member = m->path,
		.default_value = *m->other ? m->other : NULL,
		.drivers = *m->drivers ? m->drivers : NULL,
		.meaning = m->help};

	definition_add_kind(&kind, m);
	row.value = arena_text(&cli->arena, kind.p);
	buf_fini(&kind);
	return row;
}

/* The members directly inside `path`. */
static int list_members(struct cli *cli, const char *path)
{
	const char *driver = cli_option(cli, "driver");
	struct cli_list l = {.cli = cli,
			     .shape = &explained_member_shape,
			     .columns = "member value default_value drivers",
			     .none = "it has no members"};

	for (const struct definition_member *m = definition_members; m->path;
	     m++) {
		struct explained_member row;

		if (!definition_applies(m, driver) ||
		    (!cli_flag(cli, "recursive") &&
		     !definition_is_inside(m, path)) ||
		    strncmp(m->path, path, strlen(path)) != 0)
			continue;
		row = describe(cli, m);
		cli_list_add(&l, &row);
	}
	cli_list_end(&l);
	return 0;
}

static bool has_members(const char *path)
{
	for (const struct definition_member *m = definition_members; m->path;
	     m++)
		if (definition_is_inside(m, path))
			return true;
	return false;
}

/* Each driver may give a member of its own meaning. */
static int explain_member(struct cli *cli, const char *path, struct err *e)
{
	const char *driver = cli_option(cli, "driver");
	struct suggestion near;
	const char *meant;
	int n = 0;

	suggest_begin(&near, path);
	for (const struct definition_member *m = definition_members; m->path;
	     m++) {
		struct explained_member row;

		suggest_candidate(&near, m->path);
		if (!definition_applies(m, driver) ||
		    (strcmp(m->path, path) != 0 &&
		     m != definition_find(path, driver)))
			continue;
		row = describe(cli, m);
		if (n++)
			output_note(&cli->out, "%s", "");
		output_object(&cli->out, &explained_member_shape, &row);
	}
	meant = suggest_end(&near);
	if (n == 0)
		return err_set(
			e, ERR_NOTFOUND,
			"a definition has no member '%s'%s%s; %s%s%s",
			quoted(path).text, driver ? " with the driver " : "",
			driver ? driver : "", meant ? "did you mean '" : "",
			meant ? meant
			      : "'skep agent explain' lists all members",
			meant ? "'?" : "");
	if (!has_members(path) || cli->out.json)
		return 0;
	output_note(&cli->out, "%s", "");
	return list_members(cli, path);
}

static int agent_explain(struct cli *cli, struct err *e)
{
	const char *path = cli_arg(cli, 0);

	return path ? explain_member(cli, path, e) : list_members(cli, "");
}

const struct command cmd_agent_explain = {
	.name = "agent explain",
	.args = "[MEMBER]",
	.help = "describe what a definition may contain",
	.about = "Without MEMBER, all members of a definition are listed.\n"
		 "\n"
		 "Examples:\n"
		 "  skep agent explain limits\n"
		 "  skep agent explain config --driver chat\n"
		 "  skep agent explain config.stdin",
	.arguments = ARGUMENTS({"MEMBER", "member of a definition, such as "
					  "limits.memory"}),
	.options = OPTIONS(OPTION(WORD, 'd', "driver", AGENT_DRIVERS,
				  "only members of this driver"),
			   FLAG('r', "recursive", "list inner members too"),
			   OPT_QUIET),
	.run = agent_explain,
};

static int print_agent_schema(struct cli *cli, struct err *e)
{
	struct buf out = BUF_MAX(1u << 20);
	int rc;

	definition_schema(&out);
	rc = output_document(&cli->out, out.p, e);
	buf_fini(&out);
	return rc;
}

const struct command cmd_agent_schema = {
	.name = "agent schema",
	.help = "print the JSON schema of definitions",
	.run = print_agent_schema,
};
