/* Cgroups that a killed supervisor left behind. */
#include "lib/sandbox/cgroup.h"

#include <fts.h>
#include <stdio.h>
#include <string.h>

#define MOUNTS    32
#define DEPTH_MAX 6 /* below a mount: slices, a user's manager, a service */

static bool is_empty(const char *dir)
{
	char path[CGROUP_PATH + 64];
	FILE *f;
	bool empty;

	snprintf(path, sizeof path, "%s/cgroup.procs", dir);
	f = fopen(path, "re");
	empty = f && fgetc(f) == EOF;
	if (f)
		(void)fclose(f);
	return empty;
}

/* The mount point of a version of cgroups, NULL after the last. */
static void find_mounts(char paths[MOUNTS][CGROUP_PATH], char *list[MOUNTS + 1])
{
	FILE *f = fopen("/proc/self/mounts", "re");
	char line[1024], kind[16];
	int n = 0;

	while (f && n < MOUNTS && fgets(line, sizeof line, f))
		if (sscanf(line, "%*s %255s %15s", paths[n], kind) == 2 &&
		    (!strcmp(kind, "cgroup") || !strcmp(kind, "cgroup2"))) {
			list[n] = paths[n];
			n++;
		}
	if (f)
		(void)fclose(f);
	list[n] = NULL;
}

void cgroup_each_empty(const char *prefix,
		       void (*fn)(void *arg, const char *dir), void *arg)
{
	static char paths[MOUNTS][CGROUP_PATH];
	char *list[MOUNTS + 1];
	FTSENT *at;
	FTS *walk;

	find_mounts(paths, list);
	walk = list[0] ? fts_open(list, FTS_PHYSICAL | FTS_NOCHDIR, NULL)
		       : NULL;
	while (walk && (at = fts_read(walk))) {
		if (at->fts_info != FTS_D)
			continue;
		if (!strncmp(at->fts_name, prefix, strlen(prefix)) &&
		    is_empty(at->fts_path))
			fn(arg, at->fts_path);
		if (at->fts_level >= DEPTH_MAX)
			(void)fts_set(walk, at, FTS_SKIP);
	}
	if (walk)
		(void)fts_close(walk);
}
