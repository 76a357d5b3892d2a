#include "schema/agent/transcript/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[EVENT_TYPES] = {

#define EVENT(word, number) [number] = #word,
#include "schema/agent/transcript/event_type.def"
#undef EVENT
};

const char *event_type_name(int64_t type)
{
	return type >= 0 && type < EVENT_TYPES ? names[type]
					       : names[EVENT_unknown];
}

enum event_type event_type_from(const char *word)
{
	for (int i = 0; i < EVENT_TYPES; i++)
		if (!strcmp(names[i], word))
			return (enum event_type)i;
	return EVENT_unknown;
}

struct event_id event_id_of(const char *sid, int64_t seq)
{
	struct event_id id;

	snprintf(id.text, sizeof id.text, "evt_%.26s%010" PRIu32, sid + 4,
		 (uint32_t)seq);
	return id;
}
