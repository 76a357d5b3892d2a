/* The errors for an unknown and for a missing command. */
#include "cli/command.h"

#include "lib/base/suggest.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

#define LIST_MAX 200

static bool has_noun(const struct command *c, const char *noun)
{
	size_t n = noun ? strlen(noun) : 0;

	return noun ? !strncmp(c->name, noun, n) && c->name[n] == ' '
		    : !strchr(c->name, ' ');
}

/* What users of similar programs type, and our command. */
static const char *const other_words[][2] = {
	{"start", "up"},
	{"stop", "down"},
	{"kill", "cancel"},
	{"abort", "cancel"},
	{"list", "ps"},
	{"ls", "ps"},
	{"delete", "agent rm"},
	{"rm", "agent rm"},
	{"create", "agent add"},
	{"add", "agent add"},
	{"exec", "run"},
	{"info", "status"},
	{"inspect", "show"},
	{"tail", "logs --follow"},
	{"attach", "logs --follow"},
	{"dashboard", "ui"},
	{"web", "ui"},
	{"login", "ui"},
	{"setup", "init"},
	{"models", "agent ls"},
};

static const char *near_command(const char *noun, const char *word)
{
	size_t n = noun ? strlen(noun) + 1 : 0;
	struct suggestion near;

	for (size_t i = 0;
	     !noun && i < sizeof other_words / sizeof *other_words; i++)
		if (strcmp(other_words[i][0], word) == 0)
			return other_words[i][1];
	suggest_begin(&near, word);
	for (int i = 0; commands[i]; i++)
		if (has_noun(commands[i], noun))
			suggest_candidate(&near, commands[i]->name + n);
	for (int i = 0; !noun && nouns[i].name; i++)
		suggest_candidate(&near, nouns[i].name);
	return suggest_end(&near);
}

/* The verbs of the noun, as many as fit into a message. */
static void list_verbs(const char *noun, char out[LIST_MAX])
{
	size_t n = 0;

	out[0] = '\0';
	for (int i = 0; commands[i]; i++) {
		const char *verb = strchr(commands[i]->name, ' ');

		if (!has_noun(commands[i], noun))
			continue;
		if (n + strlen(verb) + sizeof ", …" > LIST_MAX) {
			snprintf(out + n, LIST_MAX - n, ", …");
			return;
		}
		n += (size_t)snprintf(out + n, LIST_MAX - n, "%s%s",
				      n ? ", " : "", verb + 1);
	}
}

int missing_command(const char *noun, struct err *e)
{
	char verbs[LIST_MAX];

	if (!noun)
		return err_set(e, ERR_USAGE,
			       "the command is missing; 'skep help' lists all "
			       "commands");
	list_verbs(noun, verbs);
	return err_set(e, ERR_USAGE, "the verb is missing; %s has the verbs %s",
		       noun, verbs);
}

int unknown_command(const char *noun, const char *word, struct err *e)
{
	const char *best = near_command(noun, word);
	const char *space = noun ? " " : "";
	struct quoted given = quoted(word);
	char verbs[LIST_MAX];

	if (best)
		return err_set(
			e, ERR_USAGE,
			"unknown command '%s%s%s'; did you mean '%s%s%s'?",
			noun ? noun : "", space, given.text, noun ? noun : "",
			space, best);
	if (!noun)
		return err_set(e, ERR_USAGE,
			       "unknown command '%s'; see 'skep --help'",
			       given.text);
	list_verbs(noun, verbs);
	return err_set(e, ERR_USAGE,
		       "unknown command '%s %s'; %s has the verbs %s", noun,
		       given.text, noun, verbs);
}
