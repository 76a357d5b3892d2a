#include "ipc/end_reason.h"

#include <assert.h>
#include <string.h>

static const struct {
	const char *code;
	const char *outcome;
	const char *word;
	bool retryable;
} reasons[] = {
#define REASON(code, outcome, retryable, word) \
	[REASON_##code] = {#code, #outcome, word, retryable},
#include "ipc/end_reason.def"
#undef REASON
};

const char *reason_code(enum reason r)
{
	assert(r < REASONS);
	return reasons[r].code;
}

const char *reason_outcome(enum reason r)
{
	assert(r < REASONS);
	return reasons[r].outcome;
}

const char *reason_description(enum reason r)
{
	assert(r < REASONS);
	return reasons[r].word;
}

bool reason_is_retryable(enum reason r)
{
	assert(r < REASONS);
	return reasons[r].retryable;
}

enum reason reason_from(const char *code)
{
	for (unsigned i = 0; i < REASONS; i++)
		if (strcmp(reasons[i].code, code) == 0)
			return (enum reason)i;
	return REASONS;
}
