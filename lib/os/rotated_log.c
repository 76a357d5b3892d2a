#include "lib/os/rotated_log.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100

static bool is_file(int fd, const struct stat *st)
{
	struct stat mine;

	return fd >= 0 && fstat(fd, &mine) == 0 && mine.st_ino == st->st_ino &&
	       mine.st_dev == st->st_dev;
}

/* The name still refers to the opened file, so nothing happened in between. */
static bool is_still(const char *path, int fd)
{
	struct stat st;

	return stat(path, &st) == 0 ? is_file(fd, &st) : fd < 0;
}

static void close_both(const int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void rotated_log_open(const char *path, int fds[2])
{
	char former[PATH_MAX + 8];

	snprintf(former, sizeof former, "%s.1", path);
	for (int i = 0;; i++) {
		fds[1] = open(path, O_RDONLY | O_CLOEXEC);
		fds[0] = open(former, O_RDONLY | O_CLOEXEC);
		if (is_still(path, fds[1]) || i == TRIES)
			return;
		close_both(fds);
	}
}
