/* Values for people: ages, short ids, glyphs of states. */
#include "cli/output.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "lib/base/text.h"

#include <inttypes.h>
#include <string.h>

#define MINUTE INT64_C(60000)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

static const struct {
	int64_t below, unit;
	const char *name;
} ages[] = {
	{MINUTE, 1000, "s"},
	{HOUR, MINUTE, "min"},
	{2 * DAY, HOUR, "h"},
	{INT64_MAX, DAY, "days"},
};

const char *output_age(int64_t then, int64_t now, char out[OUTPUT_AGE])
{
	int64_t ms = now > then ? now - then : then - now;
	size_t i = 0;

	while (ms >= ages[i].below)
		i++;
	if (ms < 1000)
		text_printf(out, OUTPUT_AGE, "just now");
	else
		text_printf(out, OUTPUT_AGE, "%s%" PRId64 " %s%s",
			    then > now ? "in " : "", ms / ages[i].unit,
			    ages[i].name, then > now ? "" : " ago");
	return out;
}

struct output_state output_state(const char *word)
{
	static const struct {
		const char *word;
		struct output_state state;
	} states[] = {
		{"queued", {"○", STYLE_PLAIN}},
		{"pending", {"○", STYLE_PLAIN}},
		{"open", {"○", STYLE_WARN}},
		{"starting", {"◐", STYLE_GOOD}},
		{"running", {"●", STYLE_GOOD}},
		{"sending", {"●", STYLE_GOOD}},
		{"active", {"●", STYLE_GOOD}},
		{"idle", {"○", STYLE_DIM}},
		{"paused", {"‖", STYLE_WARN}},
		{"stopping", {"◐", STYLE_WARN}},
		{"ending", {"◐", STYLE_WARN}},
		{"succeeded", {"✓", STYLE_GOOD}},
		{"delivered", {"✓", STYLE_GOOD}},
		{"allowed", {"✓", STYLE_GOOD}},
		{"done", {"✓", STYLE_GOOD}},
		{"failed", {"✗", STYLE_BAD}},
		{"dead", {"✗", STYLE_BAD}},
		{"denied", {"✗", STYLE_BAD}},
		{"timed_out", {"✗", STYLE_BAD}},
		{"critical", {"✗", STYLE_BAD}},
		{"warning", {"!", STYLE_WARN}},
		{"unknown", {"?", STYLE_WARN}},
		{"cancelled", {"-", STYLE_DIM}},
		{"discarded", {"-", STYLE_DIM}},
		{"expired", {"-", STYLE_DIM}},
	};

	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		if (!strcmp(states[i].word, word))
			return states[i].state;
	return (struct output_state){"", STYLE_PLAIN};
}

void output_short_cell(struct buf *b, const struct field *f, const void *obj)
{
	const void *at = field_in(f, obj);
	char age[OUTPUT_AGE];
	const char *text;

	if (f->type == FIELD_time && *(const field_time *)at != OPT_NONE) {
		buf_adds(b,
			 output_age(*(const field_time *)at, clock_now(), age));
		return;
	}
	text = f->type == FIELD_text ? *(const field_text *)at : NULL;
	if (text && id_time(text) >= 0)
		buf_add(b, text + 4, OUTPUT_ID_SHOWN);
	else
		output_cell(b, f, obj);
}
