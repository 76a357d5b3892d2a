/* A locator that is taken can be written, and what is written is read as the
 * same place. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[2048];
	size_t n = size < sizeof text - 1 ? size : sizeof text - 1;

	memcpy(text, data, n);
	text[n] = '\0';
	check_locator(text);
	return 0;
}
