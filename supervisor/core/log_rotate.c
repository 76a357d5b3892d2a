#include "supervisor/core/log_rotate.h"

#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/os/log_line.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME  "skepd.log"
#define BLOCK      65536
#define FIRST_LINE 256

/* Of the first line; 0: unknown. */
static int64_t first_time(int fd)
{
	char text[FIRST_LINE + 1];
	ssize_t n = pread(fd, text, FIRST_LINE, 0);
	struct arena a = {0};
	struct log_line line;

	text[n > 0 ? n : 0] = '\0';
	log_line_parse(FILE_NAME, text, 0, &line, &a);
	arena_fini(&a);
	return line.at;
}

static bool is_due(int fd, const struct config *c)
{
	struct stat st;
	int64_t first;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	if (st.st_size >= c->log_max)
		return true;
	first = c->log_age ? first_time(fd) : 0;
	return first && first < clock_now() - c->log_age;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return -1;
		p += put;
		n -= (size_t)put;
	}
	return 0;
}

/* Copies what is there, and truncates the file at once. */
static int move_content(int from, int to)
{
	static char block[BLOCK];
	ssize_t n;
	off_t at = 0;

	while ((n = pread(from, block, sizeof block, at)) > 0) {
		if (write_all(to, block, (size_t)n))
			return -1;
		at += n;
	}
	return n < 0 || ftruncate(from, 0) ? -1 : 0;
}

static void numbered(const char *path, int64_t number, char out[PATH_MAX])
{
	text_printf(out, PATH_MAX, "%s.%lld", path, (long long)number);
}

static int rotate(const char *path, int fd, int64_t keep)
{
	char old[PATH_MAX], next[PATH_MAX];
	int to, rc;

	for (int64_t i = keep; i > 1; i--) {
		numbered(path, i - 1, old);
		numbered(path, i, next);
		if (rename(old, next) && errno != ENOENT)
			return -1;
	}
	numbered(path, 1, old);
	to = open(old, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (to < 0)
		return -1;
	rc = move_content(fd, to);
	if (close(to))
		rc = -1;
	return rc;
}

void log_rotate(const struct home *home, const struct config *c)
{
	struct home_path path = home_join(home, HOME_LOGS, FILE_NAME);
	int fd = open(path.text, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return; /* skepd logs elsewhere */
	if (is_due(fd, c) && rotate(path.text, fd, c->log_keep))
		log_warn(LT("msg", "cannot rotate the log"),
			 LT("file", path.text), LT("error", strerror(errno)));
	close(fd);
}
