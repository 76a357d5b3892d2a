/* Files of other programs. */
#include "ops/import/source.h"

#include "lib/base/fault.h"
#include "lib/os/file.h"
#include "lib/os/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE    65536
#define TRIES    8
#define PAUSE_MS 40

const char *const source_suffixes[] = {"-wal", "-shm", "-journal", NULL};

/* The files of a database: the -shm is rebuilt from the log. */
static const char *const parts[] = {"", "-wal", "-journal"};
#define NPARTS (sizeof parts / sizeof parts[0])

/* Only the owner may use O_NOATIME. */
static int open_quietly(const char *path)
{
	int fd = open_files_openat(AT_FDCWD, path,
				   O_RDONLY | O_CLOEXEC | O_NOATIME);

	return fd < 0 && errno == EPERM
		       ? open_files_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC)
		       : fd;
}

/* Hashes every byte, and writes it to `to` unless that is -1. */
static int pour(const char *path, struct hash *h, int to, int64_t *bytes,
		struct err *e)
{
	int fd = open_quietly(path), rc = 0;
	char *room = malloc(PIECE);
	ssize_t got = 0;

	if (!room)
		abort();
	if (fd < 0)
		rc = err_errno_set(e, "%s", path);
	while (!rc && (got = read(fd, room, PIECE)) > 0) {
		hash_add(h, room, (size_t)got);
		*bytes += got;
		if (to >= 0)
			rc = file_write_fd(to, SOURCE_COPY, room, (size_t)got,
					   e);
	}
	if (!rc && got < 0)
		rc = err_errno_set(e, "%s", path);
	if (fd >= 0)
		close(fd);
	free(room);
	return rc;
}

/* One file of it: a missing log is not an error. */
static int pour_part(const char *path, const char *copy, struct hash *h,
		     struct source_stamp *out, struct err *e)
{
	struct stat st;
	int64_t at;
	int to = -1, rc;

	if (copy)
		unlink(copy);
	if (stat(path, &st))
		return errno == ENOENT ? 0 : err_errno_set(e, "%s", path);
	if (copy)
		to = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (copy && to < 0)
		return err_errno_set(e, "%s", copy);
	at = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	if (at > out->mtime_ns)
		out->mtime_ns = at;
	rc = pour(path, h, to, &out->bytes, e);
	if (to >= 0)
		close(to);
	return rc;
}

/* The mark, and a copy in `dir` unless that is NULL. */
static int stamp_source(const char *path, const char *dir,
			struct source_stamp *out, struct err *e)
{
	size_t n = source_is_database(path) ? NPARTS : 1;
	struct hash *h = hash_new();
	int rc = 0;

	*out = (struct source_stamp){0};
	for (size_t i = 0; !rc && i < n; i++) {
		char from[PATH_MAX + 16], to[PATH_MAX + 32];

		snprintf(from, sizeof from, "%s%s", path, parts[i]);
		snprintf(to, sizeof to, "%s/" SOURCE_COPY "%s", dir ? dir : "",
			 parts[i]);
		rc = pour_part(from, dir ? to : NULL, h, out, e);
		if (!rc && dir && i == 0)
			rc = fault_point(FAULT_import_copy, e);
	}
	hash_end(h, out->sha256);
	return rc;
}

int source_stamp(const char *path, struct source_stamp *out, struct err *e)
{
	if (access(path, R_OK))
		return err_errno_set(e, "%s", path);
	return stamp_source(path, NULL, out, e);
}

bool source_is_database(const char *path)
{
	static const char magic[16] = "SQLite format 3";
	char head[sizeof magic] = "";
	int fd = open_quietly(path);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)sizeof head && !memcmp(head, magic, sizeof head);
}

int source_read(const char *path, struct buf *b, struct err *e)
{
	int fd = open_quietly(path), rc;

	if (fd < 0)
		return err_errno_set(e, "%s", path);
	rc = file_read_fd(fd, path, b, e);
	close(fd);
	return rc;
}

/*
 * File and log are read one after the other. If two reads give the same result,
 * both had this content between the reads, so the copy is consistent, without a
 * lock that the program would notice.
 */
int source_copy(const char *path, const char *dir, struct source_stamp *mark,
		struct err *e)
{
	const struct timespec pause = {0, PAUSE_MS * 1000000L};
	struct source_stamp again;

	for (int i = 0; i < TRIES; i++) {
		if (stamp_source(path, dir, mark, e) ||
		    stamp_source(path, NULL, &again, e))
			return -1;
		if (!strcmp(mark->sha256, again.sha256))
			return 0;
		nanosleep(&pause, NULL);
	}
	return err_set(e, ERR_BUSY,
		       "it keeps changing; stop the program that "
		       "writes it and import again");
}

int source_open(struct sql **out, const char *path, const char *dir,
		struct source_stamp *mark, struct err *e)
{
	char to[PATH_MAX + 32];

	snprintf(to, sizeof to, "%s/" SOURCE_COPY "-shm", dir);
	unlink(to);
	snprintf(to, sizeof to, "%s/" SOURCE_COPY, dir);
	if (source_copy(path, dir, mark, e))
		return -1;
	return sql_open(out, to, NULL, 0, e);
}
