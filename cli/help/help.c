#include "cli/cli.h"

#include "cli/help/wrap.h"

#include <ctype.h>
#include <string.h>

#define OPTION_INDENT 24

static bool is_of(const struct command *c, const char *noun)
{
	size_t n = strlen(noun);

	return !strncmp(c->name, noun, n) && c->name[n] == ' ';
}

/* "  LEFT    text": the text starts on the next line if LEFT is too long. */
static void print_item(FILE *to, const char *left, size_t indent,
		       const char *text)
{
	size_t n = strlen(left) + 2;

	fprintf(to, "  %s", left);
	if (n + 2 > indent) {
		fputc('\n', to);
		n = 0;
	}
	fprintf(to, "%*s", (int)(indent - n), "");
	wrap_text(to, text, indent, indent);
}

static void print_options(FILE *to, const struct option_spec *o)
{
	for (; o && o->name; o++) {
		char left[256], letter[8] = "";

		if (o->letter)
			snprintf(letter, sizeof letter, "-%c, ", o->letter);
		snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name,
			 o->value ? " " : "", o->value ? o->value : "");
		print_item(to, left, OPTION_INDENT, o->help);
	}
}

static bool has_kind(const struct option_spec *o, enum option_kind kind)
{
	for (; o && o->name; o++)
		if (o->kind == kind)
			return true;
	return false;
}

/* The notation of values that are not plain text. */
static void print_notation(FILE *to, const struct command *c)
{
	if (has_kind(c->options, OPTION_MILLIS))
		fputs("\nTIME is a number with a unit: ms, s, m, h or d, such "
		      "as 30s. Without a unit\nit is in seconds.\n",
		      to);
	if (has_kind(c->options, OPTION_BYTES))
		fputs("\nBYTES is a number, optionally with a unit: k, m, g or "
		      "t, such as 64k.\n",
		      to);
}

const char *help_next_placeholder(const char *at, size_t *n)
{
	for (; *at; at++)
		if (isupper((unsigned char)*at)) {
			*n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
			return at;
		}
	return NULL;
}

static void print_arguments(FILE *to, const struct command *c)
{
	const char *at = c->args;
	size_t n;

	if (!at)
		return;
	fputs("\narguments:\n", to);
	for (; (at = help_next_placeholder(at, &n)); at += n) {
		const char *help = placeholder_help(c, at, n);
		char name[32];

		snprintf(name, sizeof name, "%.*s", (int)n, at);
		print_item(to, name, OPTION_INDENT, help ? help : "");
	}
}

static void print_sentence(FILE *to, const char *text)
{
	fprintf(to, "\n%c%s.\n", toupper((unsigned char)text[0]), text + 1);
}

void help_command(FILE *to, const struct command *c)
{
	bool agent = command_takes_agent(c);

	fprintf(to, "usage: skep %s%s%s%s\n", c->name, c->args ? " " : "",
		c->args ? c->args : "",
		c->options || agent ? " [OPTION...]" : "");
	print_sentence(to, c->help);
	if (c->about) {
		fputc('\n', to);
		wrap_text(to, c->about, 0, 0);
	}
	print_arguments(to, c);
	if (c->options || agent)
		fputs("\noptions:\n", to);
	print_options(to, c->options);
	if (agent)
		print_options(to, agent_option);
	print_notation(to, c);
	fputs("\nglobal options:\n", to);
	print_options(to, global_options);
}

void help_noun(FILE *to, const char *noun)
{
	fprintf(to, "usage: skep %s VERB [ARGUMENT...] [OPTION...]\n", noun);
	for (int i = 0; nouns[i].name; i++)
		if (!strcmp(nouns[i].name, noun))
			print_sentence(to, nouns[i].help);
	fputs("\nverbs:\n", to);
	for (int i = 0; commands[i]; i++)
		if (is_of(commands[i], noun))
			print_item(to, commands[i]->name + strlen(noun) + 1, 14,
				   commands[i]->help);
	fprintf(to, "\n'skep %s VERB --help' describes a verb.\n", noun);
}

/* The verbs of a noun, in lines that fit 80 columns. */
static void print_verbs(FILE *to, const char *noun)
{
	size_t column = 80;

	for (int i = 0; commands[i]; i++) {
		const char *verb = commands[i]->name + strlen(noun) + 1;

		if (!is_of(commands[i], noun))
			continue;
		if (column + 1 + strlen(verb) > 78) {
			fprintf(to, "%s%15s", column < 80 ? "\n" : "", "");
			column = 15;
		}
		column += 1 + strlen(verb);
		fprintf(to, " %s", verb);
	}
	fputc('\n', to);
}

void help_skep(FILE *to)
{
	fputs("usage: skep COMMAND [ARGUMENT...] [OPTION...]\n"
	      "       skep NOUN VERB [ARGUMENT...] [OPTION...]\n\n"
	      "skep runs agents: one process per run, one SQLite file per "
	      "agent.\n\ncommands:\n",
	      to);
	for (int i = 0; commands[i]; i++)
		if (!strchr(commands[i]->name, ' '))
			print_item(to, commands[i]->name, 16,
				   commands[i]->help);
	fputs("\nnouns and their verbs:\n", to);
	for (int i = 0; nouns[i].name; i++) {
		print_item(to, nouns[i].name, 16, nouns[i].help);
		print_verbs(to, nouns[i].name);
	}
	fputs("\nglobal options:\n", to);
	print_options(to, global_options);
	fputs("\n'skep NOUN --help' and 'skep NOUN VERB --help' describe a "
	      "noun and a command.\n",
	      to);
}
