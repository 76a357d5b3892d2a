#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* a longer line is cut, never split */

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
		if ((unsigned char)*s <= ' ' || *s == '"' || *s == '=' ||
		    *s == '\\' || *s == 0x7f)
			return false;
	return true;
}

static void add_quoted(struct buf *line, const char *s)
{
	buf_addc(line, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			buf_addf(line, "\\%c", c);
		else if (c == '\n')
			buf_adds(line, "\\n");
		else if (c < ' ' || c == 0x7f)
			buf_addf(line, "\\x%02x", c);
		else
			buf_addc(line, (char)c);
	}
	buf_addc(line, '"');
}

static void add_field(struct buf *line, const struct log_field *f)
{
	buf_addf(line, " %s=", f->key);
	if (!f->text)
		buf_addf(line, "%" PRId64, f->number);
	else if (is_plain(f->text))
		buf_adds(line, f->text);
	else
		add_quoted(line, f->text);
}

static void write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return; /* nowhere left to complain to */
		p += put;
		n -= (size_t)put;
	}
}

void log_write(enum log_level level, const struct log_field *fields)
{
	struct buf line = BUF_MAX(LINE_MAX_BYTES);
	int saved = errno;
	char when[CLOCK_TEXT];

	if (level < sink.least)
		return;
	buf_addf(&line, "ts=%s level=%s prog=%s", clock_text(clock_now(), when),
		 level_names[level], sink.prog);
	for (; fields->key; fields++)
		add_field(&line, fields);
	if (line.over) {
		line.over = false;
		line.max += 16;
		buf_adds(&line, " cut=1");
	}
	line.max += 1;
	buf_addc(&line, '\n');
	write_all(sink.fd < 0 ? STDERR_FILENO : sink.fd, line.p, line.n);
	buf_fini(&line);
	errno = saved;
}
