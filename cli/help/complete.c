#include "cli/help/complete.h"

#include "cli/command.h"

#include <string.h>

static const char *verb_of(const struct command *c)
{
	const char *space = strchr(c->name, ' ');

	return space ? space + 1 : NULL;
}

static bool is_of(const struct command *c, const char *noun)
{
	size_t n = strlen(noun);

	return !strncmp(c->name, noun, n) && c->name[n] == ' ';
}

/* Calls `each` for the options of a command, including the common ones. */
static void each_option(FILE *to, const struct command *c,
			void (*each)(FILE *, const struct command *,
				     const struct option_spec *))
{
	bool agent = command_takes_agent(c);
	const struct option_spec *lists[] = {
		c->options, agent ? agent_option : NULL, global_options};

	for (int i = 0; i < 3; i++)
		for (const struct option_spec *o = lists[i]; o && o->name; o++)
			each(to, c, o);
}

static void bash_option(FILE *to, const struct command *c,
			const struct option_spec *o)
{
	(void)c;
	if (o->letter)
		fprintf(to, " -%c", o->letter);
	fprintf(to, " --%s", o->name);
}

/* The possible next words, for the words before the cursor. */
static void bash_cases(FILE *to)
{
	fputs("\t'1 '*) words='", to);
	for (int n = 0; nouns[n].name; n++)
		fprintf(to, " %s", nouns[n].name);
	for (int i = 0; commands[i]; i++)
		if (!verb_of(commands[i]))
			fprintf(to, " %s", commands[i]->name);
	fputs("' ;;\n", to);
	for (int n = 0; nouns[n].name; n++) {
		fprintf(to, "\t'2 %s '*) words='", nouns[n].name);
		for (int i = 0; commands[i]; i++)
			if (is_of(commands[i], nouns[n].name))
				fprintf(to, " %s", verb_of(commands[i]));
		fputs("' ;;\n", to);
	}
	for (int i = 0; commands[i]; i++) {
		fprintf(to, "\t*' %s%s'*) words='", commands[i]->name,
			verb_of(commands[i]) ? "" : " ");
		each_option(to, commands[i], bash_option);
		fputs("' ;;\n", to);
	}
}

void complete_bash(FILE *to)
{
	fputs("# bash completion for skep\n_skep()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n"
	      "\tCOMPREPLY=()\n"
	      "\tcase \"$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n",
	      to);
	bash_cases(to);
	fputs("\tesac\n"
	      "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "}\ncomplete -o default -F _skep skep\n",
	      to);
}

/* Inside single quotes; `quote` is the escape of the shell for one. */
static void quoted_text(FILE *to, const char *text, const char *quote)
{
	for (; *text; text++)
		if (*text == '\'')
			fputs(quote, to);
		else
			fputc(*text, to);
}

static void zsh_item(FILE *to, const char *word, const char *help)
{
	fprintf(to, " '%s:", word);
	quoted_text(to, help, "'\\''");
	fputs("'", to);
}

static void zsh_option(FILE *to, const struct command *c,
		       const struct option_spec *o)
{
	char word[80];

	(void)c;
	snprintf(word, sizeof word, "--%s", o->name);
	zsh_item(to, word, o->help);
}

static void zsh_cases(FILE *to)
{
	fputs("\t'2 '*) list=(", to);
	for (int n = 0; nouns[n].name; n++)
		zsh_item(to, nouns[n].name, nouns[n].help);
	for (int i = 0; commands[i]; i++)
		if (!verb_of(commands[i]))
			zsh_item(to, commands[i]->name, commands[i]->help);
	fputs(" ) ;;\n", to);
	for (int n = 0; nouns[n].name; n++) {
		fprintf(to, "\t'3 %s '*) list=(", nouns[n].name);
		for (int i = 0; commands[i]; i++)
			if (is_of(commands[i], nouns[n].name))
				zsh_item(to, verb_of(commands[i]),
					 commands[i]->help);
		fputs(" ) ;;\n", to);
	}
	for (int i = 0; commands[i]; i++) {
		fprintf(to, "\t*' %s%s'*) list=(", commands[i]->name,
			verb_of(commands[i]) ? "" : " ");
		each_option(to, commands[i], zsh_option);
		fputs(" ) ;;\n", to);
	}
}

void complete_zsh(FILE *to)
{
	fputs("#compdef skep\n# zsh completion for skep\n_skep()\n{\n"
	      "\tlocal -a list\n"
	      "\tcase \"$CURRENT $words[2] $words[3]\" in\n",
	      to);
	zsh_cases(to);
	/* As a file of fpath it is called for the first completion and must
	 * perform it; if sourced, it only registers itself. */
	fputs("\tesac\n\t_describe skep list || _files\n}\n"
	      "if [[ $funcstack[1] = _skep ]]; then\n\t_skep \"$@\"\nelse\n"
	      "\tcompdef _skep skep\nfi\n",
	      to);
}

/* fish: -n is a condition on the words that are on the line already. */
static const char fish_head[] =
	"# fish completion for skep\n"
	"function __skep_in\n"
	"\tset -l words (commandline -opc)[2..-1]\n"
	"\tset -l n (count $argv)\n"
	"\ttest $n -eq 0; and return 0\n"
	"\ttest (count $words) -ge $n; and test \"$words[1..$n]\" = \"$argv\"\n"
	"end\n"
	"function __skep_after\n"
	"\ttest (count (commandline -opc)) -eq (math (count $argv) + 1)\n"
	"\tand __skep_in $argv\n"
	"end\n";

static void fish_option(FILE *to, const struct command *c,
			const struct option_spec *o)
{
	fprintf(to, "complete -c skep -n '__skep_in %s' ", c->name);
	if (o->letter)
		fprintf(to, "-s %c ", o->letter);
	fprintf(to, "-l %s%s -d '", o->name, o->value ? " -r" : "");
	quoted_text(to, o->help, "\\'");
	fputs("'\n", to);
}

static void fish_word(FILE *to, const char *noun, const char *word,
		      const char *help)
{
	fprintf(to, "complete -c skep -f -n '__skep_after%s%s' -a %s -d '",
		noun ? " " : "", noun ? noun : "", word);
	quoted_text(to, help, "\\'");
	fputs("'\n", to);
}

void complete_fish(FILE *to)
{
	fputs(fish_head, to);
	for (int n = 0; nouns[n].name; n++)
		fish_word(to, NULL, nouns[n].name, nouns[n].help);
	for (int i = 0; commands[i]; i++) {
		const struct command *c = commands[i];
		const char *verb = verb_of(c);
		char noun[32];

		snprintf(noun, sizeof noun, "%.*s", (int)strcspn(c->name, " "),
			 c->name);
		fish_word(to, verb ? noun : NULL, verb ? verb : c->name,
			  c->help);
		each_option(to, c, fish_option);
	}
}
