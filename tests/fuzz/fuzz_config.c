/* A configuration is taken or refused with ERR_CONFIG; one that is taken can be
 * shown, and what is shown reads back as the same configuration. */
#include "schema/config.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static void show_config(const struct config *c, struct buf *out)
{
	config_show(c, out);
	assert(!out->over);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = BUF_MAX(16u << 20), again = BUF_MAX(16u << 20);
	struct config c, back;
	struct err e = {0};

	config_defaults(&c);
	if (config_parse(&c, "fuzz", (const char *)data, size, &e)) {
		assert(e.code == ERR_CONFIG && e.text[0]);
	} else {
		show_config(&c, &once);
		config_defaults(&back);
		assert(!config_parse(&back, "shown", once.p, once.n, &e));
		assert(back.warnings.n == 0);
		show_config(&back, &again);
		assert(!strcmp(once.p, again.p));
		config_fini(&back);
	}
	config_fini(&c);
	buf_fini(&once);
	buf_fini(&again);
	return 0;
}
