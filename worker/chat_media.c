#include "worker/chat_media.h"

#include "base/base64.h"
#include "base/file.h"
#include "base/json.h"
#include "worker/media.h"

#include <string.h>

/* Larger ones, and those beyond, are only named in the text. */
#define PICTURE_BYTES (8u << 20)
#define PICTURES_MAX  8

/* The types that servers take, by how such a file begins: what a sender says may
 * be wrong, and a server rejects the whole request then. */
static const char *type_of(const struct buf *b)
{
	static const struct {
		const char *start;
		size_t n;
		const char *type;
	} types[] = {
		{"\x89PNG\r\n\x1a\n", 8, "image/png"},
		{"\xff\xd8\xff", 3, "image/jpeg"},
		{"GIF87a", 6, "image/gif"},
		{"GIF89a", 6, "image/gif"},
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (b->n >= types[i].n &&
		    memcmp(b->p, types[i].start, types[i].n) == 0)
			return types[i].type;
	if (b->n >= 12 && memcmp(b->p, "RIFF", 4) == 0 &&
	    memcmp(b->p + 8, "WEBP", 4) == 0)
		return "image/webp";
	return NULL;
}

static bool add_picture(const char *path, bool responses, struct buf *out)
{
	struct buf bytes = BUF_MAX(PICTURE_BYTES);
	struct err ignored; /* its name is in the text */
	const char *type = file_read(path, &bytes, &ignored) == 0
				   ? type_of(&bytes)
				   : NULL;

	if (type) {
		buf_adds(out, responses ? ",{\"type\":\"input_image\","
					  "\"image_url\":\"data:"
					: ",{\"type\":\"image_url\","
					  "\"image_url\":{\"url\":\"data:");
		buf_addf(out, "%s;base64,", type);
		base64_add(out, bytes.p, bytes.n);
		buf_adds(out, responses ? "\"}" : "\"}}");
	}
	buf_fini(&bytes);
	return type != NULL;
}

int chat_media_add(struct run *r, const char *text, bool responses,
		   struct buf *out)
{
	const char *at = text;
	struct media m;
	int n = 0;

	while (n < PICTURES_MAX &&
	       media_next(r->start->home, &at, &r->arena, &m))
		n += add_picture(m.path, responses, out);
	return n;
}

int chat_media_read(struct run *r, const char *path, struct buf *out,
		    struct err *e)
{
	const char *at = r->start->prompt;
	struct media m;

	while (at && media_next(r->start->home, &at, &r->arena, &m))
		if (strcmp(m.path, path) == 0)
			return file_read(path, out, e) ? -1 : 1;
	return 0;
}
