/* Any command line is either understood or refused with one sentence; what is
 * understood has no more words and options than were given. */
#include "cli/command.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 80

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *argv[WORDS_MAX + 2] = {text};
	struct err e = {0};
	struct args args;
	int argc = 1;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *p = text; p <= text + size && argc <= WORDS_MAX;
	     p += strlen(p) + 1)
		argv[argc++] = p;
	if (args_parse(&args, argc, argv, &e)) {
		assert(e.code == ERR_USAGE);
		assert(e.text[0] && !strchr(e.text, '\n'));
	} else {
		assert(args.nwords + args.noptions < 2 * argc);
		for (int i = 0; args.command && i < args.nwords; i++)
			assert(args.words[i] >= text &&
			       args.words[i] <= text + size);
		for (int i = 0; i < args.noptions; i++)
			assert(args_option(&args, args.options[i].spec->name));
	}
	free(text);
	return 0;
}
