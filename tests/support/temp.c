#include "tests/support/temp.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void temp_make(struct temp *t)
{
	const char *top = getenv("TMPDIR");

	/* memory first: thousands of small databases need no disk */
	if (!top || !*top)
		top = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
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
