#include "cli/help/man.h"

#include "cli/cli.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "schema/config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Text for roff: no line may begin with a dot or quote, '-' is a minus. */
static void text(FILE *to, const char *s)
{
	bool at_start = true;

	for (; *s; s++) {
		if (at_start && (*s == '.' || *s == '\''))
			fputs("\\&", to);
		at_start = *s == '\n';
		if (!strncmp(s, "…", 3)) {
			fputs("...", to);
			s += 2;
		} else if (*s == '\\')
			fputs("\\e", to);
		else if (*s == '-')
			fputs("\\-", to);
		else
			fputc(*s, to);
	}
}

/* A line of its own; lines of the source become lines of the page. */
static void line(FILE *to, const char *s)
{
	text(to, s);
	fputc('\n', to);
}

static void head(FILE *to, const char *name, const char *section,
		 const char *what)
{
	fputs(".TH \"", to);
	for (const char *p = name; *p; p++)
		fputc(toupper((unsigned char)*p), to);
	fprintf(to, "\" %s \"\" \"skep %s\" \"skep\"\n.SH NAME\n", section,
		SKEP_VERSION);
	text(to, name);
	fputs(" \\- ", to);
	line(to, what);
}

static void options(FILE *to, const struct option_spec *o)
{
	for (; o && o->name; o++) {
		fputs(".TP\n", to);
		if (o->letter)
			fprintf(to, "\\fB\\-%c\\fR, ", o->letter);
		fputs("\\fB\\-\\-", to);
		text(to, o->name);
		fputs("\\fR", to);
		if (o->value) {
			fputs(" \\fI", to);
			text(to, o->value);
			fputs("\\fR", to);
		}
		fputc('\n', to);
		line(to, o->help);
	}
}

/* The descriptions of all errors with this exit status. */
static void exit_code(FILE *to, int status)
{
	const char *between = "";

	for (int c = 0; c < ERR_COUNT; c++) {
		if (err_exit_status((enum err_code)c) != status)
			continue;
		if (!*between)
			fprintf(to, ".TP\n.B %d\n", status);
		fputs(between, to);
		text(to, err_description((enum err_code)c));
		between = "; ";
	}
	fputs(*between ? "\n" : "", to);
}

static void exit_codes(FILE *to)
{
	fputs(".SH EXIT STATUS\nThe numbers are those of sysexits.h.\n", to);
	for (int status = 0; status < 128; status++)
		exit_code(to, status);
}

static void about_errors(FILE *to)
{
	fputs(".SH ERRORS\nOne line on standard error, \"skep: \" and the "
	      "error; with\n.B \\-\\-json\na problem object with the members "
	      "title, status, code, exit, retry and detail.\n",
	      to);
}

static bool is_of(const struct command *c, const char *noun)
{
	size_t n = strlen(noun);

	return !strncmp(c->name, noun, n) && c->name[n] == ' ';
}

/* Lines that start with a blank are examples, and with a tab items of a list. */
static void paragraphs(FILE *to, const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "\n");
		char *one = strndup(s, n);

		if (!one)
			abort();
		fputs(*s == ' '    ? ".nf\n"
		      : *s == '\t' ? ".br\n"
		      : *s == '\n' ? ".PP\n"
				   : "",
		      to);
		if (n)
			line(to, one + (*one == '\t'));
		fputs(*s == ' ' ? ".fi\n" : "", to);
		free(one);
		s += n + (s[n] == '\n');
	}
}

static void arguments(FILE *to, const struct command *c)
{
	const char *at = c->args;
	size_t n;

	for (; at && (at = help_next_placeholder(at, &n)); at += n) {
		const char *help = placeholder_help(c, at, n);

		fprintf(to, ".TP\n\\fI%.*s\\fR\n", (int)n, at);
		line(to, help ? help : "");
	}
}

static void one_command(FILE *to, const struct command *c)
{
	fputs(".SS \"skep ", to);
	text(to, c->name);
	if (c->args) {
		fputc(' ', to);
		text(to, c->args);
	}
	fputs("\"\n", to);
	fputc(toupper((unsigned char)c->help[0]), to);
	text(to, c->help + 1);
	fputs(".\n", to);
	if (c->about) {
		fputs(".PP\n", to);
		paragraphs(to, c->about);
	}
	arguments(to, c);
	options(to, c->options);
	if (command_takes_agent(c))
		options(to, agent_option);
}

void man_noun(FILE *to, const char *noun)
{
	char name[64];

	snprintf(name, sizeof name, "skep-%s", noun);
	for (int i = 0; nouns[i].name; i++)
		if (!strcmp(nouns[i].name, noun))
			head(to, name, "1", nouns[i].help);
	fprintf(to,
		".SH SYNOPSIS\n.B skep %s\n.I VERB\n[\\fIARGUMENT\\fR...]"
		" [\\fIOPTION\\fR...]\n.SH COMMANDS\n",
		noun);
	for (int i = 0; commands[i]; i++)
		if (is_of(commands[i], noun))
			one_command(to, commands[i]);
	fputs(".SH OPTIONS OF EVERY COMMAND\n", to);
	options(to, global_options);
	about_errors(to);
	exit_codes(to);
	fputs(".SH SEE ALSO\n.BR skep (1),\n.BR skepd (8)\n", to);
}

static void all_nouns(FILE *to)
{
	for (int n = 0; nouns[n].name; n++) {
		const char *between = "";

		fprintf(to, ".TP\n.BR skep\\-%s (1)\n", nouns[n].name);
		text(to, nouns[n].help);
		fputs(": ", to);
		for (int i = 0; commands[i]; i++)
			if (is_of(commands[i], nouns[n].name)) {
				fprintf(to, "%s%s", between,
					commands[i]->name +
						strlen(nouns[n].name) + 1);
				between = ", ";
			}
		fputc('\n', to);
	}
}

void man_skep(FILE *to)
{
	head(to, "skep", "1", "hosts agent runs");
	fputs(".SH SYNOPSIS\n.B skep\n.I NOUN VERB\n[\\fIARGUMENT\\fR...] "
	      "[\\fIOPTION\\fR...]\n.SH DESCRIPTION\n"
	      "One small supervisor, one process per active run, one SQLite "
	      "file per agent. This is the command for all of it; without a "
	      "running\n.BR skepd (8)\nit works on the databases directly.\n"
	      ".SH COMMANDS\n",
	      to);
	all_nouns(to);
	for (int i = 0; commands[i]; i++)
		if (!strchr(commands[i]->name, ' '))
			one_command(to, commands[i]);
	fputs(".SH OPTIONS\n", to);
	options(to, global_options);
	about_errors(to);
	exit_codes(to);
	fputs(".SH ENVIRONMENT\n.TP\n.B SKEP_HOME\nwhere everything is, "
	      "instead of ~/.skep; the words undefined and null count as "
	      "unset\n.TP\n.B NO_COLOR\nno colour, whatever the terminal\n"
	      ".SH SEE ALSO\n.BR skepd (8),\n.BR skep\\-worker (8),\n"
	      ".BR skep.json (5)\n",
	      to);
}

static void config_key(FILE *to, const char *section, const cJSON *key)
{
	const cJSON *least = cJSON_GetObjectItemCaseSensitive(key, "minimum");
	const cJSON *words = cJSON_GetObjectItemCaseSensitive(key, "enum");
	const cJSON *other = cJSON_GetObjectItemCaseSensitive(key, "default");
	struct buf b = BUF_MAX(4096);

	fprintf(to, ".TP\n\\fB%s.%s\\fR (default ", section, key->string);
	json_add(&b, other);
	text(to, b.p);
	buf_clear(&b);
	fputs(")\n", to);
	line(to, json_text(key, "description", ""));
	if (words)
		json_add(&b, words);
	else if (least)
		buf_addf(&b, "%.0f to %.0f", least->valuedouble,
			 cJSON_GetObjectItemCaseSensitive(key, "maximum")
				 ->valuedouble);
	if (b.n) {
		fputs(".br\nallowed: ", to);
		line(to, b.p);
	}
	buf_fini(&b);
}

void man_config(FILE *to)
{
	struct buf schema = BUF_MAX(1u << 20);
	const cJSON *section, *key;
	cJSON *root;

	config_schema(&schema);
	root = cJSON_Parse(schema.p);
	head(to, "skep.json", "5", "configuration of skep");
	fputs(".SH DESCRIPTION\n$SKEP_HOME/skep.json, one JSON object with a "
	      "member for each section. A missing file means the defaults. "
	      "Times are seconds or texts such as \"30s\" and \"5m\", sizes "
	      "are "
	      "bytes or texts such as \"64k\".\n.B skep config check\nsays "
	      "whether a file "
	      "is right,\n.B skep config schema\nprints its JSON schema.\n"
	      ".SH KEYS\n",
	      to);
	cJSON_ArrayForEach(section,
			   cJSON_GetObjectItemCaseSensitive(root, "properties"))
		cJSON_ArrayForEach(key, cJSON_GetObjectItemCaseSensitive(
						section, "properties"))
			config_key(to, section->string, key);
	fputs(".SH SEE ALSO\n.BR skep\\-config (1),\n.BR skepd (8)\n", to);
	cJSON_Delete(root);
	buf_fini(&schema);
}
