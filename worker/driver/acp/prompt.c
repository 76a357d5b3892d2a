#include "lib/json/base64.h"
#include "lib/os/file.h"
#include "worker/driver/acp/acp.h"
#include "worker/workspace/media.h"

#include <string.h>

/* Larger attachments, and further ones, are only named in the text. */
#define BLOCK_BYTES (5u << 20)
#define BLOCKS_MAX  8

/* "image" or "audio", if the agent accepts such blocks; or NULL. */
static const char *kind_of(const struct acp *x, const char *type)
{
	if (x->can_image && strncmp(type, "image/", 6) == 0)
		return "image";
	if (x->can_audio && strncmp(type, "audio/", 6) == 0)
		return "audio";
	return NULL;
}

/* Returns whether there was one. An unreadable one is still named. */
static bool add_block(const struct acp *x, const struct media *m,
		      struct buf *out)
{
	const char *kind = kind_of(x, m->type);
	struct buf bytes = BUF_MAX(BLOCK_BYTES);
	struct err ignored;
	bool good = kind && file_read(m->path, &bytes, &ignored) == 0;

	if (good) {
		json_begin_object(out);
		json_put_text(out, "type", kind);
		json_put_text(out, "mimeType", m->type);
		json_key(out, "data");
		json_begin_string(out);
		base64_add(out, bytes.p, bytes.n);
		json_end_string(out);
		json_end_object(out);
	}
	buf_fini(&bytes);
	return good;
}

void acp_add_blocks(struct acp *x, const char *text, struct buf *out)
{
	struct run *r = x->run;
	const char *at = text;
	struct media m;
	int n = 0;

	json_begin_array(out);
	json_begin_object(out);
	json_put_text(out, "type", "text");
	json_put_text(out, "text", text);
	json_end_object(out);
	while (n < BLOCKS_MAX && media_next(r->start->home, &at, &r->arena, &m))
		n += add_block(x, &m, out);
	json_end_array(out);
}
