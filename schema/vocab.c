#include "schema/vocab.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"

#include <assert.h>
#include <string.h>

#define VOCAB(database, table, column, words) \
	const char vocab_##database##_##table##_##column[] = words;
#include "schema/vocab.def"
#undef VOCAB

const struct vocab vocabs[] = {
#define VOCAB(database, table, column, words) \
	{#database, #table, #column, words},
#include "schema/vocab.def"
#undef VOCAB
};

const size_t vocab_count = sizeof vocabs / sizeof vocabs[0];

const struct vocab *vocab_find(const char *name)
{
	for (size_t i = 0; i < vocab_count; i++) {
		size_t n = strlen(vocabs[i].table);

		if (strncmp(vocabs[i].table, name, n) == 0 && name[n] == '.' &&
		    strcmp(vocabs[i].column, name + n + 1) == 0)
			return &vocabs[i];
	}
	return NULL;
}

bool vocab_has(const char *words, const char *value)
{
	size_t n = value ? strlen(value) : 0;

	while (n > 0) {
		size_t k = strcspn(words, "|");

		if (k == n && memcmp(words, value, n) == 0)
			return true;
		if (words[k] == '\0')
			return false;
		words += k + 1;
	}
	return false;
}

/* "a, b or c" */
static void add_list(struct buf *b, const char *words)
{
	for (;;) {
		size_t k = strcspn(words, "|");
		bool last = words[k] == '\0';

		buf_add(b, words, k);
		if (last)
			return;
		words += k + 1;
		buf_adds(b, strchr(words, '|') ? ", " : " or ");
	}
}

int vocab_check(const char *name, const char *value, struct err *e)
{
	const struct vocab *v = vocab_find(name);
	struct buf list = BUF_MAX(400);

	assert(v && "a vocabulary of vocab.def");
	if (vocab_has(v->words, value))
		return 0;
	add_list(&list, v->words);
	err_set(e, ERR_INVALID, "'%s' is not a valid %s %s: %s",
		quoted(value ? value : "").text, v->table, v->column, list.p);
	buf_fini(&list);
	return -1;
}
