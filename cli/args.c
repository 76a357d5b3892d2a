#include "cli/command.h"

#include "lib/base/nearest.h"
#include "lib/base/text.h"

#include <inttypes.h>
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

const struct option_spec global_options[] = {
	{"home", "DIR", "use this home instead of $SKEP_HOME or ~/.skep",
	 OPTION_FILE},
	{"json", NULL, "answer as JSON, one object a line", OPTION_FLAG},
	{"no-color", NULL, "no colour, as with NO_COLOR in the environment",
	 OPTION_FLAG},
	{"help", NULL, "say what a command does and takes", OPTION_FLAG},
	{"version", NULL, "say which version this is", OPTION_FLAG},
	{NULL, NULL, NULL, OPTION_FLAG},
};

const struct option_spec agent_option[] = {
	{"agent", "NAME", "whose file; without it the default agent's",
	 OPTION_NAME},
	{NULL, NULL, NULL, OPTION_FLAG},
};

static const struct option_spec *find_in(const struct option_spec *list,
					 const char *name, size_t n)
{
	for (; list && list->name; list++)
		if (!strncmp(list->name, name, n) && !list->name[n])
			return list;
	return NULL;
}

static bool takes_agent(const struct command *c)
{
	return c && c->needs & NEEDS_AGENT_ANY;
}

static const struct option_spec *find_option(const struct command *c,
					     const char *name, size_t n)
{
	const struct option_spec *o = c ? find_in(c->options, name, n) : NULL;

	if (!o && takes_agent(c))
		o = find_in(agent_option, name, n);
	return o ? o : find_in(global_options, name, n);
}

static void offer_options(struct nearest *near, const struct option_spec *list)
{
	for (; list && list->name; list++)
		nearest_offer(near, list->name);
}

static int unknown_option(const struct command *c, const char *name, size_t n,
			  struct err *e)
{
	struct quoted word = quotedn(name, n);
	struct nearest near;
	const char *best;

	nearest_begin(&near, word.text);
	offer_options(&near, c ? c->options : NULL);
	if (takes_agent(c))
		offer_options(&near, agent_option);
	offer_options(&near, global_options);
	best = nearest_end(&near);
	return err_set(e, ERR_USAGE, "unknown option --%s%s%s%s", word.text,
		       best ? "; did you mean --" : "; see skep ",
		       best ? best : (c ? c->name : ""),
		       best ? "?" : (c ? " --help" : "--help"));
}

/* Names of files are bytes, whatever they mean to a terminal. */
static bool names_a_file(const char *spec)
{
	static const char *const words[] = {"PATH", "FILE",   "FROM", "TO",
					    "DIR",  "TARGET", "GLOB"};
	size_t n = strcspn(spec, " ].");

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strlen(words[i]) == n && !strncmp(spec, words[i], n))
			return true;
	return false;
}

static int check_utf8(const char *what, const char *spec, const char *value,
		      struct err *e)
{
	if (names_a_file(spec) || text_is_utf8(value, strlen(value)))
		return 0;
	return err_set(e, ERR_USAGE, "%s '%s' is not valid UTF-8", what,
		       quoted(value).text);
}

static int check_value(const struct option_spec *o, const char *v,
		       struct err *e)
{
	int64_t ignored;
	char what[80];

	snprintf(what, sizeof what, "--%s", o->name);
	switch (o->kind) {
	case OPTION_NAME:
		return text_check_name(what, v, e);
	case OPTION_INT:
		return text_i64(what, v, 0, INT64_MAX, &ignored, e);
	case OPTION_COUNT:
		return text_i64(what, v, 1, INT64_MAX, &ignored, e);
	case OPTION_BYTES:
		return text_bytes(what, v, &ignored, e);
	case OPTION_MILLIS:
		return text_millis(what, v, &ignored, e);
	case OPTION_WORD:
		return text_check_word(what, o->value, v, e);
	case OPTION_FILE:
		if (*v)
			return 0;
		return err_set(e, ERR_USAGE, "%s: the path is empty", what);
	case OPTION_TEXT:
	case OPTION_MANY:
		return check_utf8(what, o->value, v, e);
	case OPTION_FLAG:
		return 0;
	}
	return 0;
}

static int keep_option(struct args *a, const struct option_spec *o,
		       const char *value, struct err *e)
{
	if (a->noptions == ARGS_OPTIONS_MAX)
		return err_set(e, ERR_USAGE, "more than %d options",
			       ARGS_OPTIONS_MAX);
	a->options[a->noptions++] = (struct args_option){o, value};
	a->help = a->help || !strcmp(o->name, "help");
	a->version = a->version || !strcmp(o->name, "version");
	return 0;
}

/* argv[*i] starts with "--"; its value may be argv[*i + 1]. */
static int take_option(struct args *a, int argc, char **argv, int *i,
		       struct err *e)
{
	const char *name = argv[*i] + 2, *value = strchr(name, '=');
	size_t n = value ? (size_t)(value - name) : strlen(name);
	const struct option_spec *o = find_option(a->command, name, n);

	if (!o)
		return unknown_option(a->command, name, n, e);
	if (o->kind == OPTION_FLAG) {
		if (value)
			return err_set(e, ERR_USAGE, "--%s takes no value",
				       o->name);
		return keep_option(a, o, "", e);
	}
	if (!value && *i + 1 >= argc)
		return err_set(e, ERR_USAGE, "--%s needs a value: --%s %s",
			       o->name, o->name, o->value);
	value = value ? value + 1 : argv[++*i];
	if (check_value(o, value, e))
		return -1;
	return keep_option(a, o, value, e);
}

static const struct command *find_command(const char *noun, const char *word)
{
	size_t n = noun ? strlen(noun) : 0;

	for (int i = 0; commands[i]; i++) {
		const char *name = commands[i]->name;

		if (noun && (strncmp(name, noun, n) != 0 || name[n] != ' '))
			continue;
		if (!strcmp(noun ? name + n + 1 : name, word))
			return commands[i];
	}
	return NULL;
}

static const char *find_noun(const char *word)
{
	for (int i = 0; nouns[i].name; i++)
		if (!strcmp(nouns[i].name, word))
			return nouns[i].name;
	return NULL;
}

/* Behind "vfs" either of two words may be the verb: see put_verb_first. */
static int take_command_word(struct args *a, const char *word, const char *next,
			     struct err *e)
{
	a->command = find_command(a->noun, word);
	if (a->command)
		return 0;
	if (!a->noun)
		a->noun = find_noun(word);
	else
		return unknown_command(a->noun, word,
				       !strcmp(a->noun, "vfs") ? next : NULL,
				       e);
	return a->noun ? 0 : unknown_command(NULL, word, NULL, e);
}

/* How many words .args asks for: *most is -1 where the last may repeat. */
static void count_args(const char *spec, int *least, int *most)
{
	*least = *most = 0;
	for (const char *at = spec; at && *at; at++) {
		if (at > spec && at[-1] != ' ')
			continue;
		*least += *at != '[';
		*most += *most >= 0;
		if (strstr(at, "...") && !strchr(at, ' '))
			*most = -1;
	}
}

/* Names are checked here, before a command opens or makes anything. */
static int check_word(const struct command *c, const char *spec,
		      const char *word, struct err *e)
{
	char noun[32];

	snprintf(noun, sizeof noun, "%.*s", (int)strcspn(c->name, " "),
		 c->name);
	spec += strspn(spec, "[");
	if (!strncmp(spec, "NAME", 4))
		return text_check_name(noun, word, e);
	if (!*word)
		return err_set(e, ERR_USAGE, "%.*s is empty",
			       (int)strcspn(spec, " ]."), spec);
	snprintf(noun, sizeof noun, "%.*s", (int)strcspn(spec, " ]."), spec);
	return check_utf8(noun, spec, word, e);
}

static int check_each(const struct args *a, struct err *e)
{
	const char *spec = a->command->args;

	for (int i = 0; i < a->nwords; i++) {
		const char *space = strchr(spec, ' ');

		if (check_word(a->command, spec, a->words[i], e))
			return -1;
		spec = space ? space + 1 : spec;
	}
	return 0;
}

static int check_words(const struct args *a, struct err *e)
{
	const struct command *c = a->command;
	int least, most;

	count_args(c->args, &least, &most);
	if (a->nwords < least)
		return err_set(e, ERR_USAGE, "use: skep %s %s", c->name,
			       c->args);
	if (most >= 0 && a->nwords > most)
		return err_set(e, ERR_USAGE,
			       "'%s' is one word too many for: skep %s %s",
			       quoted(a->words[most]).text, c->name,
			       c->args ? c->args : "");
	return check_each(a, e);
}

/* "-i", where the command has such a letter for a flag. */
static int take_letter(struct args *a, const char *word, struct err *e)
{
	const char *l = a->command ? a->command->letters : NULL;
	size_t n;

	for (; l && *l && !word[2]; l += n + (l[n] == ' ')) {
		n = 2 + strcspn(l + 2, " ");
		if (l[0] == word[1])
			return keep_option(
				a, find_option(a->command, l + 2, n - 2), "",
				e);
	}
	return err_set(e, ERR_USAGE,
		       "unknown option %s: options are words with two dashes; "
		       "'--' ends them",
		       quoted(word).text);
}

/* The next word that is none of an option's, or NULL. */
static const char *behind(int argc, char **argv, int i)
{
	return i + 1 < argc && argv[i + 1][0] != '-' ? argv[i + 1] : NULL;
}

static int take_words(struct args *a, int argc, char **argv, struct err *e)
{
	bool only_words = false;
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		char *word = argv[i];

		if (!only_words && !strcmp(word, "-h")) {
			a->help = true;
		} else if (!only_words && !strcmp(word, "--")) {
			only_words = true;
		} else if (!only_words && !strncmp(word, "--", 2)) {
			if (take_option(a, argc, argv, &i, e))
				return -1;
		} else if (!only_words && word[0] == '-' && word[1]) {
			if (take_letter(a, word, e))
				return -1;
		} else if (!a->command) {
			if (take_command_word(a, word, behind(argc, argv, i),
					      e))
				return -1;
		} else {
			argv[kept++] = word;
			a->nwords++;
		}
	}
	return 0;
}

/* Errors of the parse itself are answered in JSON too. */
static void look_for_json(struct args *a, int argc, char **argv)
{
	struct err never;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--json") && !args_option(a, "json"))
			keep_option(a, find_in(global_options, "json", 4), "",
				    &never);
}

/* `skep vfs AGENT ls` is another way to say `skep vfs ls AGENT`. */
static void put_verb_first(int argc, char **argv)
{
	int at = 1;

	while (at < argc && argv[at][0] == '-')
		at++;
	if (at + 2 < argc && !strcmp(argv[at], "vfs") &&
	    !find_command("vfs", argv[at + 1]) &&
	    find_command("vfs", argv[at + 2])) {
		char *where = argv[at + 1];

		argv[at + 1] = argv[at + 2];
		argv[at + 2] = where;
	}
}

int args_parse(struct args *a, int argc, char **argv, struct err *e)
{
	*a = (struct args){.words = argv + 1};
	put_verb_first(argc, argv);
	look_for_json(a, argc, argv);
	if (take_words(a, argc, argv, e))
		return -1;
	if (!a->command || a->help || a->version)
		return 0;
	return check_words(a, e);
}

const char *args_option(const struct args *a, const char *name)
{
	for (int i = a->noptions - 1; i >= 0; i--)
		if (!strcmp(a->options[i].spec->name, name))
			return a->options[i].value;
	return NULL;
}
