#include "cli/command.h"

#include "lib/base/suggest.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

static const struct option_spec *find_in(const struct option_spec *list,
					 const char *name, size_t n)
{
	for (; list && list->name; list++)
		if (!strncmp(list->name, name, n) && !list->name[n])
			return list;
	return NULL;
}

static const struct option_spec *find_option(const struct command *c,
					     const char *name, size_t n)
{
	const struct option_spec *o = c ? find_in(c->options, name, n) : NULL;

	if (!o && command_takes_agent(c))
		o = find_in(agent_option, name, n);
	return o ? o : find_in(global_options, name, n);
}

static void offer_options(struct suggestion *near,
			  const struct option_spec *list)
{
	for (; list && list->name; list++)
		suggest_candidate(near, list->name);
}

static int unknown_option(const struct command *c, const char *name, size_t n,
			  struct err *e)
{
	struct quoted word = quotedn(name, n);
	struct suggestion near;
	const char *best;

	suggest_begin(&near, word.text);
	offer_options(&near, c ? c->options : NULL);
	if (command_takes_agent(c))
		offer_options(&near, agent_option);
	offer_options(&near, global_options);
	best = suggest_end(&near);
	if (best)
		return err_set(e, ERR_USAGE,
			       "unknown option --%s; did you mean --%s?",
			       word.text, best);
	return err_set(e, ERR_USAGE,
		       "unknown option --%s; see 'skep %s%s--help'", word.text,
		       c ? c->name : "", c ? " " : "");
}

/* File names may contain any bytes. */
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
	case OPTION_SIGNED:
		return text_i64(what, v, INT64_MIN, INT64_MAX, &ignored, e);
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
	/* "agent show --version N" is another option */
	a->version = a->version || (!o->value && !strcmp(o->name, "version"));
	return 0;
}

/* The value of an option: the rest of its word, or the next word. */
static int take_value(struct args *a, const struct option_spec *o,
		      const char *value, char *next, struct err *e)
{
	if (!value && !next)
		return err_set(e, ERR_USAGE, "--%s needs a value: --%s %s",
			       o->name, o->name, o->value);
	value = value ? value : next;
	return check_value(o, value, e) ? -1 : keep_option(a, o, value, e);
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
	if (o->kind == OPTION_FLAG && value)
		return err_set(e, ERR_USAGE, "--%s takes no value", o->name);
	if (o->kind == OPTION_FLAG)
		return keep_option(a, o, "", e);
	if (value)
		return take_value(a, o, value + 1, NULL, e);
	++*i;
	return take_value(a, o, NULL, *i < argc ? argv[*i] : NULL, e);
}

static const struct option_spec *find_letter(const struct command *c,
					     char letter)
{
	const struct option_spec *lists[] = {
		c ? c->options : NULL,
		command_takes_agent(c) ? agent_option : NULL, global_options};

	for (int i = 0; i < 3; i++)
		for (const struct option_spec *o = lists[i]; o && o->name; o++)
			if (o->letter == letter)
				return o;
	return NULL;
}

/* "-f", "-fq", "-n 5" or "-n5". */
static int take_letters(struct args *a, int argc, char **argv, int *i,
			struct err *e)
{
	for (const char *at = argv[*i] + 1; *at; at++) {
		const struct option_spec *o = find_letter(a->command, *at);

		if (!o)
			return err_set(e, ERR_USAGE,
				       "unknown option -%c in '%s'; see 'skep "
				       "%s%s--help' ('--' ends the options)",
				       *at > ' ' && *at < 127 ? *at : '?',
				       quoted(argv[*i]).text,
				       a->command ? a->command->name : "",
				       a->command ? " " : "");
		if (o->kind == OPTION_FLAG) {
			if (keep_option(a, o, "", e))
				return -1;
			continue;
		}
		if (at[1])
			return take_value(a, o, at + 1, NULL, e);
		++*i;
		return take_value(a, o, NULL, *i < argc ? argv[*i] : NULL, e);
	}
	return 0;
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

/* The command of a noun whose verb may be omitted, or NULL. */
static const struct command *default_command(const char *noun)
{
	size_t n = strlen(noun);

	for (int i = 0; commands[i]; i++)
		if (commands[i]->is_default &&
		    !strncmp(commands[i]->name, noun, n) &&
		    commands[i]->name[n] == ' ')
			return commands[i];
	return NULL;
}

/* 1: the word is the first argument of the command. */
static int take_command_word(struct args *a, const char *word, struct err *e)
{
	a->command = find_command(a->noun, word);
	if (a->command)
		return 0;
	if (a->noun) {
		a->command = default_command(a->noun);
		return a->command ? 1 : unknown_command(a->noun, word, e);
	}
	a->noun = find_noun(word);
	return a->noun ? 0 : unknown_command(NULL, word, e);
}

/* The number of arguments in .args; *most is -1 if one may repeat. */
static void count_args(const char *spec, int *least, int *most)
{
	*least = *most = 0;
	for (const char *at = spec; at && *at; at++) {
		if (at > spec && at[-1] != ' ')
			continue;
		*least += *at != '[';
		*most += *most >= 0;
	}
	if (spec && strstr(spec, "..."))
		*most = -1;
}

static bool is_placeholder(const char *spec, size_t n, const char *name)
{
	return strlen(name) == n && !strncmp(spec, name, n);
}

/* Checks names before a command opens or creates anything. */
static int check_word(const struct command *c, const char *spec,
		      const char *word, struct err *e)
{
	char name[32];
	size_t n;

	spec += strspn(spec, "[");
	n = strcspn(spec, " ].");
	if (is_placeholder(spec, n, "AGENT"))
		return text_check_name("agent", word, e);
	if (is_placeholder(spec, n, "CHANNEL"))
		return text_check_name("channel", word, e);
	if (!*word &&
	    !(c->may_be_empty && is_placeholder(spec, n, c->may_be_empty)))
		return err_set(e, ERR_USAGE, "%.*s is empty", (int)n, spec);
	snprintf(name, sizeof name, "%.*s", (int)n, spec);
	return check_utf8(name, spec, word, e);
}

/* The number of arguments after one that may repeat: 1 for "RUN... TEXT". */
static int count_after_repeated(const char *spec)
{
	const char *at = spec ? strstr(spec, "...") : NULL;
	int n = 0;

	while (at && (at = strchr(at, ' '))) {
		at++;
		n++;
	}
	return n;
}

static bool repeats(const char *spec)
{
	return !strncmp(spec + strcspn(spec, ". "), "...", 3);
}

static const char *next_spec(const char *spec)
{
	const char *space = strchr(spec, ' ');

	return space ? space + 1 : NULL;
}

/* The part of .args that describes the i-th word. */
static const char *spec_of(const struct args *a, int i)
{
	const char *spec = a->command->args;
	int after = count_after_repeated(spec);

	if (i >= a->nwords - after && after > 0) { /* counted from the end */
		for (i -= a->nwords - after, spec = strstr(spec, "..."); i >= 0;
		     i--)
			spec = next_spec(spec);
		return spec;
	}
	while (i-- > 0 && !repeats(spec) && next_spec(spec))
		spec = next_spec(spec);
	return spec;
}

const char *args_placeholder(const struct args *a, int i, size_t *n)
{
	const char *spec = spec_of(a, i);

	spec += strspn(spec, "[");
	*n = strcspn(spec, " ].");
	return spec;
}

static int check_each(const struct args *a, struct err *e)
{
	for (int i = 0; i < a->nwords; i++)
		if (check_word(a->command, spec_of(a, i), a->words[i], e))
			return -1;
	return 0;
}

/* Names the first missing argument. */
static int missing_word(const struct command *c, int given, struct err *e)
{
	const char *spec = c->args;

	for (int i = 0; i < given && strchr(spec, ' '); i++)
		spec = strchr(spec, ' ') + 1;
	while (*spec == '[' && strchr(spec, ' '))
		spec = strchr(spec, ' ') + 1;
	return err_set(e, ERR_USAGE, "%.*s is missing; usage: skep %s %s",
		       (int)strspn(spec, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), spec,
		       c->name, c->args);
}

static int check_words(const struct args *a, struct err *e)
{
	const struct command *c = a->command;
	int least, most;

	count_args(c->args, &least, &most);
	if (a->nwords < least)
		return missing_word(c, a->nwords, e);
	if (most >= 0 && a->nwords > most)
		return err_set(e, ERR_USAGE,
			       "unexpected argument '%s'; usage: skep %s%s%s",
			       quoted(a->words[most]).text, c->name,
			       c->args ? " " : "", c->args ? c->args : "");
	return check_each(a, e);
}

/* "-1": the newest object. No option has a digit as its letter. */
static bool is_number_word(const char *word)
{
	return word[0] == '-' && word[1] &&
	       strspn(word + 1, "0123456789") == strlen(word + 1);
}

static int take_words(struct args *a, int argc, char **argv, struct err *e)
{
	bool only_words = false;
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		char *word = argv[i];

		if (!only_words && !strcmp(word, "--")) {
			only_words = true;
		} else if (!only_words && !strncmp(word, "--", 2)) {
			if (take_option(a, argc, argv, &i, e))
				return -1;
		} else if (!only_words && word[0] == '-' && word[1] &&
			   !is_number_word(word)) {
			if (take_letters(a, argc, argv, &i, e))
				return -1;
		} else {
			int taken = a->command ? 1
					       : take_command_word(a, word, e);

			if (taken < 0)
				return -1;
			if (taken)
				argv[kept++] = word;
			a->nwords += taken;
		}
	}
	return 0;
}

/* Parse errors are printed as JSON too. */
static void look_for_json(struct args *a, int argc, char **argv)
{
	struct err never;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--json") && !args_option(a, "json"))
			keep_option(a, find_in(global_options, "json", 4), "",
				    &never);
}

int args_parse(struct args *a, int argc, char **argv, struct err *e)
{
	*a = (struct args){.words = argv + 1};
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
