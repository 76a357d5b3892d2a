#include "cli/cli.h"

#include <string.h>

static bool is_of(const struct command *c, const char *noun)
{
	size_t n = strlen(noun);

	return !strncmp(c->name, noun, n) && c->name[n] == ' ';
}

static void options(FILE *to, const char *title, const struct option_spec *o)
{
	if (!o || !o->name)
		return;
	fprintf(to, "\n%s:\n", title);
	for (; o->name; o++) {
		char left[80];

		snprintf(left, sizeof left, "--%s%s%s", o->name,
			 o->value ? " " : "", o->value ? o->value : "");
		fprintf(to, "  %-22s  %s\n", left, o->help);
	}
}

void help_command(FILE *to, const struct command *c)
{
	fprintf(to, "skep %s%s%s%s\n  %s\n", c->name, c->args ? " " : "",
		c->args ? c->args : "", c->options ? " [OPTION...]" : "",
		c->help);
	if (c->about)
		fprintf(to, "\n%s\n", c->about);
	options(to, "options", c->options);
	if (c->needs & NEEDS_AGENT_ANY)
		options(to, "which agent", agent_option);
	options(to, "everywhere", global_options);
}

void help_noun(FILE *to, const char *noun)
{
	for (int i = 0; nouns[i].name; i++)
		if (!strcmp(nouns[i].name, noun))
			fprintf(to, "skep %s: %s\n\n", noun, nouns[i].help);
	for (int i = 0; commands[i]; i++) {
		const struct command *c = commands[i];
		char left[96];

		if (!is_of(c, noun))
			continue;
		snprintf(left, sizeof left, "%s%s%s", c->name,
			 c->args ? " " : "", c->args ? c->args : "");
		fprintf(to, "  skep %-28s  %s\n", left, c->help);
	}
	fprintf(to, "\nskep %s VERB --help says more.\n", noun);
}

/* The verbs of a noun, in lines that fit 80 columns. */
static void verbs(FILE *to, const char *noun)
{
	size_t column = 80;

	for (int i = 0; commands[i]; i++) {
		const char *verb = commands[i]->name + strlen(noun) + 1;

		if (!is_of(commands[i], noun))
			continue;
		if (column + 1 + strlen(verb) > 78) {
			fputs("\n            ", to);
			column = 12;
		}
		column += 1 + strlen(verb);
		fprintf(to, " %s", verb);
	}
}

void help_skep(FILE *to)
{
	fprintf(to, "skep hosts agent runs: one process per run, one SQLite "
		    "file per agent.\n\nuse: skep NOUN VERB [WORD...] "
		    "[OPTION...]\n");
	for (int i = 0; nouns[i].name; i++) {
		fprintf(to, "\n  %-10s %s", nouns[i].name, nouns[i].help);
		verbs(to, nouns[i].name);
	}
	fprintf(to, "\n\nand:\n");
	for (int i = 0; commands[i]; i++)
		if (!strchr(commands[i]->name, ' '))
			fprintf(to, "  %-10s %s\n", commands[i]->name,
				commands[i]->help);
	options(to, "everywhere", global_options);
	fprintf(to, "\nskep NOUN --help and skep NOUN VERB --help say more.\n");
}
