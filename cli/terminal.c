#include "cli/terminal.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define CHARACTER_MAX 4 /* bytes */

bool terminal_acts_on(const char *p, size_t len)
{
	const unsigned char *c = (const unsigned char *)p;

	if (len == 1)
		return c[0] < ' ' || c[0] == 0x7f;
	if (len == 2)
		return c[0] == 0xc2 && c[1] < 0xa0;
	return len == 3 && c[0] == 0xe2 &&
	       ((c[1] == 0x80 && c[2] >= 0xa8 && c[2] <= 0xae) ||
		(c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
}

struct filter {
	FILE *to;
	char left[CHARACTER_MAX]; /* the beginning of a character */
	size_t nleft;
};

/* The code point of two or three bytes. */
static unsigned code_of(const char *p, size_t len)
{
	const unsigned char *c = (const unsigned char *)p;

	return len == 2 ? (c[0] & 0x1fu) << 6 | (c[1] & 0x3fu)
			: (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 |
				  (c[2] & 0x3fu);
}

/* The number of bytes at the end that are the beginning of a character. */
static size_t cut_bytes(const char *p, size_t n)
{
	for (size_t back = 1; back < CHARACTER_MAX && back <= n; back++) {
		unsigned char c = (unsigned char)p[n - back];
		size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if (c >= 0xc0)
			return want > back ? back : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

static void add_shown(struct buf *b, const char *p, size_t n)
{
	while (n > 0) {
		size_t len = text_utf8_char(p, n);

		if (len > 1 && terminal_acts_on(p, len))
			buf_addf(b, "\\u%04x", code_of(p, len));
		else if (len == 0 && (unsigned char)*p >= 0x80 &&
			 (unsigned char)*p < 0xa0)
			buf_addf(b, "\\x%02x", (unsigned char)*p);
		else
			buf_add(b, p, len ? len : 1);
		p += len ? len : 1;
		n -= len ? len : 1;
	}
}

static ssize_t write_filtered(void *cookie, const char *p, size_t n)
{
	struct filter *f = cookie;
	struct buf in = BUF_MAX(n + CHARACTER_MAX);
	struct buf out = BUF_MAX(6 * (n + CHARACTER_MAX));
	bool ok;

	buf_add(&in, f->left, f->nleft);
	buf_add(&in, p, n);
	f->nleft = cut_bytes(in.p, in.n);
	memcpy(f->left, in.p + in.n - f->nleft, f->nleft);
	add_shown(&out, in.p, in.n - f->nleft);
	ok = fwrite(out.p, 1, out.n, f->to) == out.n && fflush(f->to) == 0;
	buf_fini(&in);
	buf_fini(&out);
	return ok ? (ssize_t)n : -1;
}

static int drop_filter(void *cookie)
{
	free(cookie);
	return 0;
}

FILE *terminal_filter(FILE *to)
{
	struct filter *f = calloc(1, sizeof *f);
	FILE *stream;

	if (!f)
		abort();
	f->to = to;
	stream = fopencookie(f, "w",
			     (cookie_io_functions_t){.write = write_filtered,
						     .close = drop_filter});
	if (!stream)
		abort();
	setvbuf(stream, NULL, _IOLBF, BUFSIZ);
	return stream;
}
