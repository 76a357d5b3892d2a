#include "cli/init/init_ask.h"

#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool init_can_ask(struct cli *cli)
{
	return !cli_flag(cli, "yes") && !cli->out.json &&
	       isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* One line without its end; ERR_CANCELED at the end of the input. */
static int read_answer(struct cli *cli, const char **out, struct err *e)
{
	char line[4096];

	if (!fgets(line, sizeof line, stdin))
		return err_set(e, ERR_CANCELED, "the setup was not finished");
	line[strcspn(line, "\n")] = '\0';
	if (!text_is_utf8(line, strlen(line)))
		return err_set(e, ERR_USAGE, "the answer is not valid UTF-8");
	*out = arena_text(&cli->arena, line);
	return 0;
}

int init_ask(struct cli *cli, const char *question, const char *other,
	     const char **out, struct err *e)
{
	*out = other;
	if (!init_can_ask(cli))
		return 0;
	fprintf(stderr, "%s%s%s%s: ", question, *other ? " [" : "", other,
		*other ? "]" : "");
	if (read_answer(cli, out, e))
		return -1;
	if (!**out)
		*out = other;
	return 0;
}

int init_choose(struct cli *cli, const char *question,
		const char *const *choices, int n, int other, int *out,
		struct err *e)
{
	const char *answer;
	struct err why;
	int64_t number;

	*out = other;
	if (!init_can_ask(cli))
		return 0;
	fprintf(stderr, "%s\n", question);
	for (int i = 0; i < n; i++)
		fprintf(stderr, "  %d  %s\n", i + 1, choices[i]);
	for (;;) {
		fprintf(stderr, "number [%d]: ", other + 1);
		if (read_answer(cli, &answer, e))
			return -1;
		if (!*answer)
			return 0;
		if (text_i64("the number", answer, 1, n, &number, &why) == 0)
			break;
		fprintf(stderr, "%s\n", why.text);
	}
	*out = (int)number - 1;
	return 0;
}

int init_ask_yes(struct cli *cli, const char *question, bool other, bool *out,
		 struct err *e)
{
	const char *answer;

	if (init_ask(cli, question, other ? "yes" : "no", &answer, e))
		return -1;
	*out = answer[0] == 'y' || answer[0] == 'Y';
	return 0;
}
