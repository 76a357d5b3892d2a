/*
 * Any bytes as the stream of a model's server, through the parser of events: the
 * answer is whole or refused; every call has a name or is ignored;
 * what was told to grow is what is there; arguments are an object or an
 * error with words.
 */
#include "lib/json/sse.h"
#include "worker/driver/chat/turn.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct chat_turn turn;
	size_t text, reasoning;
};

static int grew(void *arg, enum chat_grows what, int call, const char *text,
		size_t n, struct err *e)
{
	struct seen *s = arg;

	(void)e;
	if (memchr(text, 0, n) || (what == CHAT_CALL) != (call >= 0) ||
	    call >= s->turn.ncalls)
		abort();
	if (what == CHAT_THOUGHT) {
		s->reasoning += s->text;
		s->text = 0;
	}
	s->text += what == CHAT_TEXT ? n : 0;
	s->reasoning += what == CHAT_REASONING ? n : 0;
	return 0;
}

static int on_chat_event(void *arg, const struct sse_event *ev)
{
	struct seen *s = arg;
	struct err e;

	(void)chat_turn_data(&s->turn, ev->data, ev->n, &e);
	return 0;
}

static void check_call(const struct chat_turn *t, int i)
{
	struct err e = {0};
	cJSON *v = chat_call_args(&t->calls[i], &e);

	if (v ? !cJSON_IsObject(v) : e.text[0] == '\0')
		abort();
	cJSON_Delete(v);
	if (!t->calls[i].id[0])
		abort();
}

static void check_turn(struct seen *s)
{
	struct err e;

	bool whole = chat_turn_end(&s->turn, 1, &e) == 0;

	if (s->text != s->turn.text.n || s->reasoning != s->turn.reasoning.n)
		abort();
	cJSON_Delete(chat_turn_details(&s->turn));
	if (!whole)
		return;
	if (chat_turn_calls(&s->turn) == 0 &&
	    strcmp(s->turn.finish, "tool_calls") == 0)
		abort();
	for (int i = 0; i < s->turn.ncalls; i++)
		check_call(&s->turn, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sse_parser parser;
	struct seen s = {.text = 0};
	struct err e;

	if (size > MAX)
		return 0;
	chat_turn_init(&s.turn);
	s.turn.grew = grew;
	s.turn.arg = &s;
	sse_parser_init(&parser, MAX);
	(void)sse_parse(&parser, (const char *)data, size, on_chat_event, &s,
			&e);
	check_turn(&s);
	sse_parser_fini(&parser);
	chat_turn_fini(&s.turn);
	return 0;
}
