#include "tests/support/temp.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Memory first: thousands of small databases need no disk. But containers often
 * have a tiny /dev/shm. */
static bool has_room(const char *path)
{
	struct statvfs fs;

	return access(path, W_OK) == 0 && statvfs(path, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize > (uint64_t)4 << 30;
}

void temp_make(struct temp *t)
{
	const char *top = getenv("TMPDIR");

	if (!top || !*top)
		top = has_room("/dev/shm") ? "/dev/shm" : "/tmp";
	snprintf(t->path, sizeof t->path, "%s/skep-test-XXXXXX", top);
	if (!mkdtemp(t->path)) {
		perror(t->path);
		exit(74);
	}
}

static int remove_entry(const char *path, const struct stat *st, int kind,
			struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void temp_remove(const struct temp *t)
{
	nftw(t->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void fail_copy(const char *path)
{
	perror(path);
	exit(74);
}

static void copy_file(const char *path, const char *to, const struct stat *st)
{
	int in = open(path, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		       st->st_mode & 0777);
	off_t at = 0;

	if (in < 0 || out < 0)
		fail_copy(to);
	while (at < st->st_size)
		if (sendfile(out, in, &at, (size_t)(st->st_size - at)) <= 0)
			fail_copy(to);
	close(in);
	close(out);
}

static const struct temp *copy_from, *copy_to; /* nftw passes nothing on */

static int copy_one(const char *path, const struct stat *st, int kind,
		    struct FTW *at)
{
	char to[PATH_MAX];

	if (at->level == 0)
		return 0;
	snprintf(to, sizeof to, "%s%s", copy_to->path,
		 path + strlen(copy_from->path));
	if (kind == FTW_F)
		copy_file(path, to, st);
	else if (mkdir(to, st->st_mode & 0777))
		fail_copy(to);
	return 0;
}

void temp_copy(struct temp *t, const struct temp *from)
{
	temp_make(t);
	copy_from = from;
	copy_to = t;
	if (nftw(from->path, copy_one, 16, FTW_PHYS))
		fail_copy(from->path);
}

const char *temp_join(const struct temp *t, const char *name)
{
	static char ring[8][PATH_MAX];
	static unsigned next;
	char *out = ring[next++ % 8];

	snprintf(out, PATH_MAX, "%s/%s", t->path, name);
	return out;
}
