#include "tests/support/temp.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void temp_remove(const struct temp *t)
{
	nftw(t->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *temp_join(const struct temp *t, const char *name)
{
	static char ring[8][PATH_MAX];
	static unsigned next;
	char *out = ring[next++ % 8];

	snprintf(out, PATH_MAX, "%s/%s", t->path, name);
	return out;
}
