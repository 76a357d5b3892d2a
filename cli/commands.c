/* The tables of commands, nouns, placeholders and common options. */
#include "cli/command.h"

#include <string.h>

const struct command *const commands[] = {
#define COMMAND(name) &cmd_##name,
#include "cli/commands.def"
#undef COMMAND
	NULL,
};

const struct noun nouns[] = {
#define NOUN(name, help) {#name, help},
#include "cli/nouns.def"
#undef NOUN
	{NULL, NULL},
};

const struct placeholder placeholders[] = {
#define PLACEHOLDER(name, help) {#name, help},
#include "cli/placeholders.def"
#undef PLACEHOLDER
	{NULL, NULL},
};

#define OPTIONS_END                              \
	{                                        \
		NULL, NULL, NULL, OPTION_FLAG, 0 \
	}

const struct option_spec global_options[] = {
	OPTION(FILE, 0, "home", "DIR",
	       "use DIR as the home (default $SKEP_HOME or ~/.skep)"),
	FLAG(0, "json", "print JSON, one object per line"),
	FLAG(0, "no-color", "disable colours, as if NO_COLOR were set"),
	FLAG('h', "help", "print this help"),
	FLAG('V', "version", "print the version"),
	OPTIONS_END,
};

const struct option_spec agent_option[] = {
	OPT_AGENT("use the data of AGENT (default: the default agent)"),
	OPTIONS_END,
};

static const char *find_placeholder(const struct placeholder *p,
				    const char *name, size_t n)
{
	for (; p && p->name; p++)
		if (!strncmp(p->name, name, n) && !p->name[n])
			return p->help;
	return NULL;
}

const char *placeholder_help(const struct command *c, const char *name,
			     size_t n)
{
	const char *own = find_placeholder(c->arguments, name, n);

	return own ? own : find_placeholder(placeholders, name, n);
}

bool command_takes_agent(const struct command *c)
{
	return c && c->needs & NEEDS_AGENT_ANY &&
	       !(c->needs & NEEDS_AGENT_WORD);
}
