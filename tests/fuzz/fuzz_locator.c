/* A locator that is taken can be written, and what is written is read as the
 * same place. Event ids likewise. */
#include "schema/agent/transcript/event.h"
#include "schema/agent/transcript/locator.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static void check_locator(const char *text)
{
	struct buf b = BUF_MAX(65536);
	struct locator l, again;
	struct err e = {0};

	if (locator_parse(text, &l, &e)) {
		assert(e.code != ERR_OK && e.text[0]);
		return;
	}
	assert(l.agent[0] && l.session[0] && l.seq >= 0);
	assert(!strchr(l.agent, '/'));
	locator_text(&l, &b);
	assert(!locator_parse(b.p, &again, &e));
	assert(!strcmp(l.agent, again.agent) && l.seq == again.seq &&
	       !strcmp(l.session, again.session));
	buf_fini(&b);
}

static void check_event_id(const char *text)
{
	char sid[ID_SIZE];
	int64_t seq;

	if (event_id_parse(text, sid, &seq))
		return;
	assert(seq >= 0 && seq <= EVENT_SEQ_MAX && id_is(ID_SESSION, sid));
	assert(!strcmp(event_id_of(sid, seq).text, text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[2048];
	size_t n = size < sizeof text - 1 ? size : sizeof text - 1;

	memcpy(text, data, n);
	text[n] = '\0';
	check_locator(text);
	check_event_id(text);
	return 0;
}
