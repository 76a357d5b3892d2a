/* What a word that is no command is answered with. */
#include "cli/command.h"

#include "lib/base/nearest.h"
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

static const char *near_command(const char *noun, const char *word)
{
	size_t n = noun ? strlen(noun) + 1 : 0;
	struct nearest near;

	nearest_begin(&near, word);
	for (int i = 0; commands[i]; i++)
		if (has_noun(commands[i], noun))
			nearest_offer(&near, commands[i]->name + n);
	for (int i = 0; !noun && nouns[i].name; i++)
		nearest_offer(&near, nouns[i].name);
	return nearest_end(&near);
}

/* As many verbs of the noun as a message has room for. */
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

int unknown_command(const char *noun, const char *word, const char *next,
		    struct err *e)
{
	const char *best = near_command(noun, word);
	const char *space = noun ? " " : "";
	char said[160], verbs[LIST_MAX];

	if (!best && next)
		best = near_command(noun, next);
	noun = noun ? noun : "";
	if (next)
		snprintf(said, sizeof said,
			 "neither '%.40s' nor '%.40s' is a command of %s",
			 quoted(word).text, quoted(next).text, noun);
	else
		snprintf(said, sizeof said, "there is no command '%s%s%.80s'",
			 noun, space, quoted(word).text);
	if (best)
		return err_set(e, ERR_USAGE, "%s; did you mean '%s%s%s'?", said,
			       noun, space, best);
	if (!*noun)
		return err_set(e, ERR_USAGE, "%s; see skep --help", said);
	list_verbs(noun, verbs);
	return err_set(e, ERR_USAGE, "%s: there are %s; see skep %s --help",
		       said, verbs, noun);
}
