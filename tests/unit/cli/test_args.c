#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 16

static struct args args;
static struct err e;
static char *argv[WORDS_MAX + 1];

/* Parses "skep" and the words, which end with NULL. */
static int parse_words(const char *first, ...)
{
	static char copies[WORDS_MAX][128];
	int argc = 0;
	va_list ap;

	snprintf(copies[argc], sizeof copies[0], "skep");
	argv[argc] = copies[argc];
	argc++;
	va_start(ap, first);
	for (const char *w = first; w; w = va_arg(ap, const char *)) {
		snprintf(copies[argc], sizeof copies[0], "%s", w);
		argv[argc] = copies[argc];
		argc++;
	}
	va_end(ap);
	argv[argc] = NULL;
	e = (struct err){0};
	return args_parse(&args, argc, argv, &e);
}

#define assert_says(text_)                                             \
	do {                                                           \
		assert_int_equal(e.code, ERR_USAGE);                   \
		if (!strstr(e.text, text_))                            \
			fail_msg("'%s' is not in: %s", text_, e.text); \
	} while (0)

static void options_may_stand_anywhere(void **state)
{
	(void)state;
	assert_int_equal(parse_words("--home", "/h", "agent", "--json", "set",
				     "--model=m=1", "a", "--enable", NULL),
			 0);
	assert_ptr_equal(args.command, &cmd_agent_set);
	assert_int_equal(args.nwords, 1);
	assert_string_equal(args.words[0], "a");
	assert_string_equal(args_option(&args, "home"), "/h");
	assert_string_equal(args_option(&args, "model"), "m=1");
	assert_non_null(args_option(&args, "enable"));
	assert_null(args_option(&args, "disable"));
}

static void the_last_of_two_equal_options_wins(void **state)
{
	(void)state;
	assert_int_equal(parse_words("agent", "set", "a", "--model", "1",
				     "--model", "2", NULL),
			 0);
	assert_string_equal(args_option(&args, "model"), "2");
}

static void two_dashes_end_the_options(void **state)
{
	(void)state;
	assert_int_equal(
		parse_words("session", "title", "s", "--", "--json", NULL), 0);
	assert_int_equal(args.nwords, 2);
	assert_string_equal(args.words[1], "--json");
	assert_null(args_option(&args, "json"));
}

static void a_word_that_is_nearly_right_is_named(void **state)
{
	(void)state;
	assert_int_equal(parse_words("agnet", "ls", NULL), -1);
	assert_says("'agent'");
	assert_int_equal(parse_words("agent", "lst", NULL), -1);
	assert_says("'agent ls'");
	assert_int_equal(parse_words("agent", "set", "a", "--modle", "x", NULL),
			 -1);
	assert_says("--model");
	assert_int_equal(parse_words("sess", "ls", NULL), -1);
	assert_says("'session'");
	assert_int_equal(parse_words("xyzzyxyzzy", NULL), -1);
	assert_null(strstr(e.text, "did you mean"));
}

static void options_have_short_forms(void **state)
{
	(void)state;
	assert_int_equal(parse_words("vfs", "grep", "a", "-i", "x", "-l", NULL),
			 0);
	assert_int_equal(parse_words("vfs", "grep", "a", "-il", "x", NULL), 0);
	assert_non_null(args_option(&args, "ignore-case"));
	assert_non_null(args_option(&args, "names"));
	assert_int_equal(parse_words("ps", "-Aqn5", NULL), 0);
	assert_string_equal(args_option(&args, "limit"), "5");
	assert_int_equal(
		parse_words("session", "ls", "-a", "ada", "-n", "7", NULL), 0);
	assert_string_equal(args_option(&args, "agent"), "ada");
	assert_string_equal(args_option(&args, "limit"), "7");
	assert_int_equal(parse_words("session", "ls", "-n", NULL), -1);
	assert_says("--limit needs a value");
	assert_int_equal(parse_words("session", "ls", "-nx", NULL), -1);
	assert_says("--limit");
	assert_int_equal(parse_words("vfs", "grep", "a", "-ix", "x", NULL), -1);
	assert_says("unknown option -x in '-ix'");
	assert_int_equal(parse_words("vfs", "ls", "-i", NULL), -1);
	assert_int_equal(parse_words("vfs", "grep", "a", "--", "-i", NULL), 0);
}

static void check_option_letters(const struct command *c)
{
	const struct option_spec *lists[] = {
		c->options, command_takes_agent(c) ? agent_option : NULL,
		global_options};
	const char *seen[128] = {NULL};

	for (int i = 0; i < 3; i++)
		for (const struct option_spec *o = lists[i]; o && o->name;
		     o++) {
			int at = (unsigned char)o->letter;

			if (at && seen[at])
				fail_msg("%s: -%c is --%s and --%s", c->name,
					 at, seen[at], o->name);
			seen[at] = o->name;
		}
}

static const struct option_spec *find_command_option(const struct command *c,
						     const char *name)
{
	for (const struct option_spec *o = c->options; o && o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

/* One name has one short form, and one thing has one name. */
static void options_mean_the_same_everywhere(void **state)
{
	static const struct option_spec same[] = {
		FLAG('A', "all", ""),
		OPT_AGENT(""),
		OPT_FOLLOW(""),
		OPTION(INT, 'n', "limit", "N", ""),
		OPT_OUTPUT(""),
		OPT_LIST,
		OPT_YES(""),
		FLAG('w', "wait", ""),
		OPTION(TEXT, 's', "session", "SESSION", ""),
	};

	(void)state;
	for (int i = 0; commands[i]; i++) {
		check_option_letters(commands[i]);
		for (size_t k = 0; k < sizeof same / sizeof same[0]; k++) {
			const struct option_spec *o = find_command_option(
				commands[i], same[k].name);

			if (o && (o->letter != same[k].letter ||
				  !o->value != !same[k].value ||
				  (o->value &&
				   strcmp(o->value, same[k].value) != 0)))
				fail_msg("%s: --%s is not as elsewhere",
					 commands[i]->name, o->name);
		}
	}
}

/* A command that has an agent as its argument has no option for it. */
static void an_agent_is_named_in_one_way(void **state)
{
	(void)state;
	for (int i = 0; commands[i]; i++) {
		const struct command *c = commands[i];
		bool positional = c->args && (strstr(c->args, "AGENT") ||
					      strstr(c->args, "NAMESPACE"));

		if (positional &&
		    (command_takes_agent(c) || find_command_option(c, "agent")))
			fail_msg("%s: the agent is an argument and an option",
				 c->name);
	}
}

static void every_placeholder_is_explained(void **state)
{
	(void)state;
	for (int i = 0; commands[i]; i++) {
		const char *at = commands[i]->args;
		size_t n;

		for (; at && (at = help_next_placeholder(at, &n)); at += n)
			if (!placeholder_help(commands[i], at, n))
				fail_msg("skep %s: %.*s is not explained",
					 commands[i]->name, (int)n, at);
	}
}

/* An explanation of a placeholder that is not in the usage line is stale. */
static void every_explanation_has_its_placeholder(void **state)
{
	(void)state;
	for (int i = 0; commands[i]; i++) {
		const struct placeholder *p = commands[i]->arguments;

		for (; p && p->name; p++)
			if (!commands[i]->args ||
			    !strstr(commands[i]->args, p->name))
				fail_msg("skep %s has no %s", commands[i]->name,
					 p->name);
	}
}

static void an_option_of_another_command_is_unknown(void **state)
{
	(void)state;
	assert_int_equal(parse_words("agent", "ls", "--model", "x", NULL), -1);
	assert_says("--model");
	assert_int_equal(parse_words("agent", "ls", "--agent", "x", NULL), -1);
	assert_int_equal(parse_words("session", "ls", "--agent", "x", NULL), 0);
}

static void values_are_checked_for_their_kind(void **state)
{
	(void)state;
	assert_int_equal(parse_words("session", "ls", "--limit", "many", NULL),
			 -1);
	assert_says("--limit");
	assert_int_equal(parse_words("session", "ls", "--limit", "-1", NULL),
			 -1);
	assert_int_equal(
		parse_words("agent", "add", "a", "--driver", "x", NULL), -1);
	assert_says("script|exec|acp|chat");
	assert_int_equal(parse_words("session", "ls", "--agent", "../x", NULL),
			 -1);
	assert_says("--agent");
	assert_int_equal(parse_words("session", "ls", "--all=yes", NULL), -1);
	assert_says("takes no value");
	assert_int_equal(parse_words("agent", "add", "a", "--driver", NULL),
			 -1);
	assert_says("needs a value");
}

static void the_number_of_words_is_checked(void **state)
{
	(void)state;
	assert_int_equal(parse_words("session", "show", NULL), -1);
	assert_says("skep session show SESSION");
	assert_int_equal(parse_words("session", "tail", "a", "b", NULL), -1);
	assert_says("'b'");
	assert_int_equal(parse_words("session", "show", "a", "b", NULL), 0);
	assert_int_equal(parse_words("note", "a", "-1", "text", NULL), 0);
	assert_int_equal(args.nwords, 3);
	assert_int_equal(parse_words("note", NULL), -1);
	assert_says("TEXT is missing");
	assert_int_equal(parse_words("session", "title", "a", NULL), 0);
	assert_int_equal(
		parse_words("session", "search", "a", "b", "c", "d", "e", NULL),
		0);
	assert_int_equal(args.nwords, 5);
	assert_int_equal(parse_words("session", "search", NULL), -1);
	assert_int_equal(parse_words("version", "x", NULL), -1);
}

static void names_and_bad_text_are_refused_before_anything_opens(void **state)
{
	(void)state;
	assert_int_equal(parse_words("agent", "show", "a/b", NULL), -1);
	assert_says("agent 'a/b'");
	assert_int_equal(parse_words("agent", "show", "", NULL), -1);
	assert_int_equal(parse_words("session", "show", "", NULL), -1);
	assert_says("SESSION is empty");
	assert_int_equal(parse_words("send", "run_x", "", NULL), -1);
	assert_says("TEXT is empty");
	assert_int_equal(parse_words("note", "run_x", "", NULL), 0);
	assert_int_equal(parse_words("note", "", "x", NULL), -1);
	assert_says("RUN is empty");
	assert_int_equal(parse_words("session", "show", "\xff", NULL), -1);
	assert_says("SESSION '\\xff'");
}

static void help_needs_no_words_and_no_command(void **state)
{
	(void)state;
	assert_int_equal(parse_words("session", "show", "--help", NULL), 0);
	assert_true(args.help);
	assert_int_equal(parse_words("session", "-h", NULL), 0);
	assert_true(args.help && !args.command);
	assert_string_equal(args.noun, "session");
	assert_int_equal(parse_words("--version", NULL), 0);
	assert_true(args.version);
}

static void json_is_known_even_when_the_rest_is_wrong(void **state)
{
	(void)state;
	assert_int_equal(parse_words("bogus", "--json", NULL), -1);
	assert_non_null(args_option(&args, "json"));
}

static void every_command_can_be_described(void **state)
{
	(void)state;
	for (int i = 0; commands[i]; i++) {
		const struct command *c = commands[i];
		const char *space = strchr(c->name, ' ');
		bool known = !space;

		for (int n = 0; space && nouns[n].name; n++)
			known = known ||
				(!strncmp(nouns[n].name, c->name,
					  strlen(nouns[n].name)) &&
				 c->name[strlen(nouns[n].name)] == ' ');
		if (!known)
			fail_msg("the noun of '%s' is not in nouns.def",
				 c->name);
		assert_non_null(c->run);
		assert_true(strlen(c->help) > 0 && strlen(c->help) <= 72);
		assert_true(c->help[strlen(c->help) - 1] != '.');
		for (const struct option_spec *o = c->options; o && o->name;
		     o++)
			if ((o->kind == OPTION_FLAG) != (o->value == NULL) ||
			    !o->help)
				fail_msg("%s --%s: value and kind", c->name,
					 o->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_may_stand_anywhere),
		cmocka_unit_test(the_last_of_two_equal_options_wins),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(a_word_that_is_nearly_right_is_named),
		cmocka_unit_test(options_have_short_forms),
		cmocka_unit_test(options_mean_the_same_everywhere),
		cmocka_unit_test(an_agent_is_named_in_one_way),
		cmocka_unit_test(every_placeholder_is_explained),
		cmocka_unit_test(every_explanation_has_its_placeholder),
		cmocka_unit_test(an_option_of_another_command_is_unknown),
		cmocka_unit_test(values_are_checked_for_their_kind),
		cmocka_unit_test(the_number_of_words_is_checked),
		cmocka_unit_test(
			names_and_bad_text_are_refused_before_anything_opens),
		cmocka_unit_test(help_needs_no_words_and_no_command),
		cmocka_unit_test(json_is_known_even_when_the_rest_is_wrong),
		cmocka_unit_test(every_command_can_be_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
