/* Ids of users: beginnings, names, "last". */
#include "cli/cli.h"

#include "lib/base/id.h"
#include "schema/control/id_find.h"

#include <string.h>

static const struct {
	const char *placeholder;
	enum id_kind kind;
} kinds[] = {
	{"RUN", ID_RUN},
	{"APPROVAL", ID_APPROVAL},
	{"DELIVERY", ID_DELIVERY},
	{"MESSAGE", ID_INBOUND},
};

/* Replaces *word if the placeholder stands for an id. */
static int resolve_word(struct cli *cli, const char *placeholder, size_t n,
			const char **word, struct err *e)
{
	struct id id;

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		const char *name = kinds[i].placeholder;

		if (strlen(name) != n || strncmp(name, placeholder, n) != 0)
			continue;
		if (id_find(cli->control, kinds[i].kind, *word, &id, e))
			return -1;
		*word = arena_text(&cli->arena, id.text);
	}
	return 0;
}

/* An option may name a run that was deleted, or an owner of artifacts that is no
 * run: the command decides. */
static int resolve_option(struct cli *cli, struct args_option *o, struct err *e)
{
	const char *value = o->spec->value;

	if (!value ||
	    resolve_word(cli, value, strlen(value), &o->value, e) == 0)
		return 0;
	return e->code == ERR_NOTFOUND ? 0 : -1;
}

int cli_resolve(struct cli *cli, struct err *e)
{
	struct args *a = &cli->args;
	size_t n;

	for (int i = 0; i < a->nwords; i++) {
		const char *placeholder = args_placeholder(a, i, &n);
		const char *word = a->words[i];

		if (resolve_word(cli, placeholder, n, &word, e))
			return -1;
		if (word != a->words[i])
			a->words[i] = arena_text(&cli->arena, word);
	}
	for (int i = 0; i < a->noptions; i++)
		if (resolve_option(cli, &a->options[i], e))
			return -1;
	return 0;
}
