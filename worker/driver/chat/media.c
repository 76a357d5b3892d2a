#include "worker/driver/chat/media.h"

#include "lib/base/text.h"
#include "lib/json/base64.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "worker/workspace/media.h"

#include <string.h>

/* Larger attachments, and further ones, are only named in the text. */
#define MEDIA_BYTES (8u << 20)
#define MEDIA_MAX   8

static const struct format {
	enum chat_media_kind kind;
	size_t at;
	const char *start;
	size_t n;
	const char *type;
	const char *sound;
} formats[] = {
#define MEDIA(kind, at, start, type, sound) \
	{CHAT_MEDIA_##kind, at, start, sizeof start - 1, type, sound},
#include "worker/driver/chat/media.def"
#undef MEDIA
};

/* Words in an error message that identify this kind; the words that all kinds
 * share are last. */
static const struct {
	const char *name;
	const char *words[4];
} kinds[CHAT_MEDIA_KINDS + 1] = {
	[CHAT_MEDIA_PICTURE] = {"pictures", {"image", "vision"}},
	[CHAT_MEDIA_DOCUMENT] = {"PDF documents", {"file", "pdf", "document"}},
	[CHAT_MEDIA_AUDIO] = {"sound", {"audio"}},
	{"", {"content type", "content part", "multimodal", "modalit"}},
};

const char *chat_media_name(enum chat_media_kind kind)
{
	return kinds[kind].name;
}

static bool mentions(const char *why, size_t kind)
{
	size_t n = sizeof kinds->words / sizeof *kinds->words;

	for (size_t i = 0; i < n && kinds[kind].words[i]; i++)
		if (strcasestr(why, kinds[kind].words[i]))
			return true;
	return false;
}

unsigned chat_media_blamed(unsigned sent, const char *why)
{
	unsigned blamed = 0;

	for (unsigned k = 0; k < CHAT_MEDIA_KINDS; k++)
		if (mentions(why, k))
			blamed |= CHAT_MEDIA_BIT(k);
	if ((blamed & sent) == 0 && mentions(why, CHAT_MEDIA_KINDS))
		blamed = sent;
	return blamed & sent;
}

static const struct format *format_of(const struct buf *b)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		const struct format *f = &formats[i];

		if (b->n >= f->at + f->n &&
		    memcmp(b->p + f->at, f->start, f->n) == 0 &&
		    (f->at == 0 || memcmp(b->p, "RIFF", 4) == 0))
			return f;
	}
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* --- parts ------------------------------------------------------------- */

static void put_data(struct buf *out, const char *name, const struct format *f,
		     const struct buf *bytes)
{
	json_key(out, name);
	json_begin_string(out);
	buf_addf(out, "data:%s;base64,", f->type);
	base64_add(out, bytes->p, bytes->n);
	json_end_string(out);
}

/* {"type": type, …}, or for chat completions {"type": type, type: {…}}. */
static void begin_part(struct buf *out, const char *type, bool nested)
{
	json_begin_object(out);
	json_put_text(out, "type", type);
	if (nested)
		json_put_object(out, type);
}

static void end_part(struct buf *out, bool nested)
{
	if (nested)
		json_end_object(out);
	json_end_object(out);
}

static void add_picture(struct buf *out, const struct format *f,
			const struct buf *bytes, bool responses)
{
	begin_part(out, responses ? "input_image" : "image_url", !responses);
	put_data(out, responses ? "image_url" : "url", f, bytes);
	end_part(out, !responses);
}

static void add_document(struct buf *out, const struct format *f,
			 const struct buf *bytes, bool responses,
			 const char *name)
{
	begin_part(out, responses ? "input_file" : "file", !responses);
	json_put_text(out, "filename", name);
	put_data(out, "file_data", f, bytes);
	end_part(out, !responses);
}

static void add_audio(struct buf *out, const struct format *f,
		      const struct buf *bytes)
{
	begin_part(out, "input_audio", true);
	json_key(out, "data");
	json_begin_string(out);
	base64_add(out, bytes->p, bytes->n);
	json_end_string(out);
	json_put_text(out, "format", f->sound);
	end_part(out, true);
}

/* --- a message ----------------------------------------------------------- */

struct media_request {
	bool responses;
	unsigned kinds;
	int n; /* parts so far */
};

/* NULL: it can be sent. The Responses API has no part for sound. */
static const char *why_not(const struct format *f,
			   const struct media_request *request,
			   const struct chat_media_parts *to, size_t bytes)
{
	if (f->kind == CHAT_MEDIA_AUDIO && request->responses)
		return "this API takes no sound";
	if ((request->kinds & CHAT_MEDIA_BIT(f->kind)) == 0)
		return "you are not given such files";
	if (request->n == MEDIA_MAX)
		return "the message has too many files";
	return bytes > to->room ? "the files are too large together" : NULL;
}

static void add_note(struct buf *notes, const struct media *m, const char *why)
{
	buf_addf(notes,
		 "\n[%s is not part of this message: %s. The file is at %s.]",
		 base_name(m->path), why, m->path);
}

static void add_media_part(const struct format *f, const struct media *m,
			   const struct buf *bytes, bool responses,
			   struct buf *out)
{
	if (f->kind == CHAT_MEDIA_PICTURE)
		add_picture(out, f, bytes, responses);
	else if (f->kind == CHAT_MEDIA_DOCUMENT)
		add_document(out, f, bytes, responses, base_name(m->path));
	else
		add_audio(out, f, bytes);
}

static void add_one(const struct media *m, struct media_request *request,
		    struct chat_media_parts *to)
{
	struct buf bytes = BUF_MAX(MEDIA_BYTES);
	struct err ignored; /* its name is in the text */
	const struct format *f = NULL;
	const char *why = NULL;

	if (file_read(m->path, &bytes, &ignored) == 0)
		f = format_of(&bytes);
	else if (bytes.over)
		add_note(&to->notes, m, "it is too large");
	if (f)
		why = why_not(f, request, to, bytes.n);
	if (why) {
		add_note(&to->notes, m, why);
	} else if (f) {
		add_media_part(f, m, &bytes, request->responses, &to->parts);
		to->sent |= CHAT_MEDIA_BIT(f->kind);
		to->room -= bytes.n;
		request->n++;
	}
	buf_fini(&bytes);
}

void chat_media_add(struct run *r, const char *text, bool responses,
		    unsigned allowed, struct chat_media_parts *to)
{
	struct media_request request = {responses, allowed, 0};
	const char *at = text;
	struct media m;

	while (media_next(r->start->home, &at, &r->arena, &m))
		add_one(&m, &request, to);
}

int chat_media_read(struct run *r, const char *path, struct buf *out,
		    struct err *e)
{
	const char *at = r->start->prompt;
	const struct format *f;
	struct media m;

	while (at && media_next(r->start->home, &at, &r->arena, &m)) {
		if (strcmp(m.path, path) != 0)
			continue;
		if (file_read(path, out, e))
			return -1;
		if (!memchr(out->p, 0, out->n) && text_is_utf8(out->p, out->n))
			return 1;
		f = format_of(out);
		return err_set(e, ERR_INVALID,
			       "%s is not text but %s, %zu bytes; only a "
			       "program can read it",
			       base_name(path), f ? f->type : "binary data",
			       out->n);
	}
	return 0;
}
