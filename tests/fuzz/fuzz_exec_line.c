#include "tests/support/fuzz.h"

#include "lib/json/json.h"
#include "lib/json/lines.h"
#include "worker/process/output_line.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINE_MAX_BYTES 64

struct whole {
	struct buf plain; /* what the events of plain output add up to */
	bool odd;         /* some line was an event of its own */
};

static void add_decoded(struct buf *b, const char *text)
{
	size_t n = strlen(text);
	unsigned char *out = malloc(n + 4);
	int got = EVP_DecodeBlock(out, (const unsigned char *)text, (int)n);

	require(got >= 0);
	while (n > 0 && text[n - 1] == '=') {
		got--;
		n--;
	}
	buf_add(b, out, (size_t)got);
	free(out);
}

/* Whatever the line was, its event can be stored and nothing of it is lost. */
static int check_event(void *arg, const struct line *line, struct err *e)
{
	struct whole *w = arg;
	struct arena a = {0};
	struct exec_line x;
	cJSON *body;

	exec_line(line, "output", "run_1", &a, &x);
	w->odd = w->odd || x.kind != EXEC_EVENT ||
		 strcmp(x.event.type, "output") != 0;
	if (x.kind == EXEC_EVENT) {
		body = json_parse_object("body", x.event.body,
					 strlen(x.event.body), e);
		require(body && x.event.type && x.event.type[0]);
		require(!x.event.key || strlen(x.event.key) <= EVENT_KEY_MAX);
		buf_adds(&w->plain, json_text(body, "text", ""));
		add_decoded(&w->plain, json_text(body, "base64", ""));
		if (line->last)
			buf_addc(&w->plain, '\n');
		cJSON_Delete(body);
	}
	arena_fini(&a);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct whole w = {.plain = BUF_MAX(64u << 20)};
	struct lines l;
	struct err e;

	lines_init(&l, LINE_MAX_BYTES);
	require(lines_add(&l, (const char *)data, size / 2, check_event, &w,
			  &e) == 0);
	require(lines_add(&l, (const char *)data + size / 2, size - size / 2,
			  check_event, &w, &e) == 0);
	require(lines_end(&l, check_event, &w, &e) == 0);
	if (!w.odd && size > 0) { /* plain output adds up to what came in */
		size_t n = w.plain.n - (data[size - 1] != '\n');

		require(n == size && memcmp(w.plain.p, data, size) == 0);
	}
	lines_fini(&l);
	buf_fini(&w.plain);
	return 0;
}
