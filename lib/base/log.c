#include "lib/base/log.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* a longer line is truncated, never split */

static struct {
	const char *prog;
	enum log_level least;
	int fd;
} sink = {.prog = "skep", .least = LOG_LEVEL_INFO, .fd = -1};

static const char *const level_names[] = {
	[LOG_LEVEL_DEBUG] = "debug",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_ERROR] = "error",
};

void log_setup(const char *prog, enum log_level least, int fd)
{
	sink.prog = prog;
	sink.least = least;
	sink.fd = fd;
}

int log_level_from(const char *word)
{
	for (int i = 0; i <= LOG_LEVEL_ERROR; i++)
		if (!strcmp(level_names[i], word))
			return i;
	return -1;
}

static bool is_plain(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f ||
		    *s == '"' || *s == '=' || *s == '\\')
			return false;
	return true;
}

/* Appends one character, or one invalid byte; returns its length. */
static size_t add_escaped(struct buf *line, const char *s)
{
	unsigned char c = (unsigned char)*s;
	size_t len = text_utf8_char(s, strlen(s));
	bool control = c < ' ' || c == 0x7f ||
		       (c == 0xc2 && (unsigned char)s[1] < 0xa0);

	if (c == '"' || c == '\\')
		buf_addf(line, "\\%c", c);
	else if (c == '\n')
		buf_adds(line, "\\n");
	else if (len == 0 || control)
		buf_addf(line, "\\x%02x", c);
	else
		buf_add(line, s, len);
	return len == 0 || control ? 1 : len;
}

/* True if the line is full before the closing quote. */
static bool add_quoted(struct buf *line, const char *s)
{
	if (buf_addc(line, '"'))
		return false;
	while (*s && !line->over)
		s += add_escaped(line, s);
	return buf_addc(line, '"') != 0;
}

static bool add_field(struct buf *line, const struct log_field *f)
{
	buf_addf(line, " %s=", f->key);
	if (f->text && !is_plain(f->text))
		return add_quoted(line, f->text);
	if (f->text)
		buf_adds(line, f->text);
	else
		buf_addf(line, "%" PRId64, f->number);
	return false;
}

static void write_line(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return; /* there is nowhere to report it */
		p += put;
		n -= (size_t)put;
	}
}

/* "/src/supervisor/run/start.c": run/start */
static void add_module(struct buf *line, const char *file)
{
	const char *from = file, *end = strrchr(file, '.');

	for (const char *p = file; (p = strchr(p, '/')) != NULL; p++)
		if (strchr(p + 1, '/'))
			from = p + 1;
	buf_adds(line, " mod=");
	buf_add(line, from, end > from ? (size_t)(end - from) : strlen(from));
}

void log_write(enum log_level level, const char *file,
	       const struct log_field *fields)
{
	struct buf line = BUF_MAX(LINE_MAX_BYTES);
	int saved = errno;
	bool open = false; /* an open quote in a full line */
	char when[CLOCK_TEXT];

	if (level < sink.least)
		return;
	buf_addf(&line, "ts=%s level=%s prog=%s", clock_text(clock_now(), when),
		 level_names[level], sink.prog);
	add_module(&line, file);
	for (; fields->key && !line.over; fields++)
		open = add_field(&line, fields);
	if (line.over) {
		line.over = false;
		line.max += 16;
		buf_adds(&line, open ? "\" cut=1" : " cut=1");
	}
	line.max += 1;
	buf_addc(&line, '\n');
	write_line(sink.fd < 0 ? STDERR_FILENO : sink.fd, line.p, line.n);
	buf_fini(&line);
	errno = saved;
}
