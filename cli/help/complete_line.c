#include "cli/command.h"
#include "cli/help/complete.h"
#include "cli/help/complete_values.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

/* What the words before the cursor mean. */
struct line {
	const char *noun;
	const struct command *command;
	const struct option_spec *pending; /* option that needs a value */
	bool only_words;                   /* after "--" */
	int nwords;
	struct complete_request request;
};

static const struct option_spec *const *option_lists(const struct line *l)
{
	static const struct option_spec *lists[4];
	int n = 0;

	if (l->command && l->command->options)
		lists[n++] = l->command->options;
	if (command_takes_agent(l->command))
		lists[n++] = agent_option;
	lists[n++] = global_options;
	lists[n] = NULL;
	return lists;
}

static const struct option_spec *find_spec(const struct line *l,
					   const char *word)
{
	for (const struct option_spec *const *list = option_lists(l); *list;
	     list++)
		for (const struct option_spec *o = *list; o->name; o++)
			if (word[1] == '-' ? !strcmp(word + 2, o->name)
					   : o->letter == word[1] && !word[2])
				return o;
	return NULL;
}

static bool is_verb_of(const struct command *c, const char *noun)
{
	size_t n = strlen(noun);

	return !strncmp(c->name, noun, n) && c->name[n] == ' ';
}

static const struct command *find_named(const char *noun, const char *word)
{
	for (int i = 0; commands[i]; i++)
		if (noun ? is_verb_of(commands[i], noun) &&
				    !strcmp(commands[i]->name + strlen(noun) +
						    1,
					    word)
			 : !strcmp(commands[i]->name, word))
			return commands[i];
	return NULL;
}

static const struct command *default_of(const char *noun)
{
	for (int i = 0; commands[i]; i++)
		if (commands[i]->is_default && is_verb_of(commands[i], noun))
			return commands[i];
	return NULL;
}

static void take_value_word(struct line *l, const char *word)
{
	if (!strcmp(l->pending->name, "home"))
		l->request.home = word;
	else if (!strcmp(l->pending->name, "agent"))
		l->request.agent = word;
	l->pending = NULL;
}

static void take_option_word(struct line *l, const char *word)
{
	const struct option_spec *o;

	if (!strncmp(word, "--home=", 7))
		l->request.home = word + 7;
	if (!strncmp(word, "--agent=", 8))
		l->request.agent = word + 8;
	o = strchr(word, '=') ? NULL : find_spec(l, word);
	if (o && o->kind != OPTION_FLAG)
		l->pending = o;
}

static void take_plain_word(struct line *l, const char *word)
{
	if (!l->command) {
		l->command = find_named(l->noun, word);
		if (l->command)
			return;
		if (!l->noun) {
			for (int i = 0; nouns[i].name; i++)
				if (!strcmp(nouns[i].name, word))
					l->noun = nouns[i].name;
			return;
		}
		l->command = default_of(l->noun);
	}
	if (l->nwords++ == 0)
		l->request.first = word;
}

static void offer_commands(const struct line *l)
{
	const char *start = l->request.start;

	for (int i = 0; !l->noun && nouns[i].name; i++)
		complete_offer(start, nouns[i].name, nouns[i].help);
	for (int i = 0; commands[i]; i++) {
		const struct command *c = commands[i];

		if (l->noun && is_verb_of(c, l->noun))
			complete_offer(start, c->name + strlen(l->noun) + 1,
				       c->help);
		else if (!l->noun && !strchr(c->name, ' '))
			complete_offer(start, c->name, c->help);
	}
}

static void offer_options(const struct line *l)
{
	char word[80];

	for (const struct option_spec *const *list = option_lists(l); *list;
	     list++)
		for (const struct option_spec *o = *list; o->name; o++) {
			text_printf(word, sizeof word, "--%s", o->name);
			complete_offer(l->request.start, word, o->help);
		}
}

/* "a|b|c" */
static void offer_words(const char *start, const char *list)
{
	char word[80];

	while (*list) {
		size_t n = strcspn(list, "|");

		text_printf(word, sizeof word, "%.*s", (int)n, list);
		complete_offer(start, word, NULL);
		list += n + (list[n] == '|');
	}
}

static void offer_value(const struct line *l)
{
	const struct option_spec *o = l->pending;

	if (o->kind == OPTION_WORD)
		offer_words(l->request.start, o->value);
	else if (!strcmp(o->name, "as"))
		offer_words(l->request.start, "wide|name|json|jsonl|csv");
	else if (!complete_values(&l->request, o->value, strlen(o->value)) &&
		 (o->kind == OPTION_FILE || !strcmp(o->value, "FILE") ||
		  !strcmp(o->value, "DIR")))
		puts(":files");
}

static void offer_argument(const struct line *l)
{
	/* more words may follow: "[RUN...] TEXT" begins with a run */
	struct args a = {.command = l->command, .nwords = l->nwords + 9};
	const char *placeholder;
	size_t n;

	if (!l->command->args)
		return;
	placeholder = args_placeholder(&a, l->nwords, &n);
	if (n == 5 && !strncmp(placeholder, "SHELL", n))
		offer_words(l->request.start, "bash|zsh|fish");
	else if (!complete_values(&l->request, placeholder, n))
		puts(":files");
}

int complete_line(int argc, char **argv)
{
	struct line l = {.request = {.start = argc ? argv[argc - 1] : ""}};

	for (int i = 0; i + 1 < argc; i++) {
		const char *word = argv[i];

		if (l.pending)
			take_value_word(&l, word);
		else if (!l.only_words && !strcmp(word, "--"))
			l.only_words = true;
		else if (!l.only_words && word[0] == '-' && word[1])
			take_option_word(&l, word);
		else
			take_plain_word(&l, word);
	}
	if (l.pending)
		offer_value(&l);
	else if (!l.only_words && l.request.start[0] == '-')
		offer_options(&l);
	else if (!l.command)
		offer_commands(&l);
	else
		offer_argument(&l);
	return 0;
}
