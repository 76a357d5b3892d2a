#include "supervisor/core/memory_trim.h"

#include "lib/db/sql.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CACHE_IDLE_KIB 256
#define CACHE_BUSY_KIB 2048 /* 64 deliveries at once need half of it */
#define BUSY_MOVES     50   /* between two calls */
#define QUIET_CALLS    8
#define ARENAS         2

/* Memory is given back. The threads beside the loop share an arena: with one for
 * all, the loop and libcurl's thread wait for each other at every message, and
 * more would be memory that rests. */
void memory_configure(void)
{
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	/* for work that waits for nothing but the disk */
	setenv("UV_THREADPOOL_SIZE", "2", 0);
}

struct mapping {
	uintptr_t begin, end;
	bool is_clean_file; /* read-only, of a file, and not changed so far */
};

static bool begins_mapping(const char *line, struct mapping *m)
{
	unsigned long begin, end, inode;
	char perms[8];

	if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &begin, &end, perms,
		   &inode) != 4)
		return false;
	*m = (struct mapping){
		.begin = begin,
		.end = end,
		.is_clean_file = inode && perms[1] == '-' && perms[3] == 'p',
	};
	return true;
}

/* Relocated pages are read-only too, but exist only in this process. */
static void give_back_files(void)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	struct mapping m = {0};
	char line[4500];
	unsigned long kb;

	while (f && fgets(line, sizeof line, f))
		if (!begins_mapping(line, &m) && m.is_clean_file &&
		    sscanf(line, "Anonymous: %lu", &kb) == 1 && kb == 0)
			/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
			(void)madvise((void *)m.begin, m.end - m.begin,
				      MADV_DONTNEED);
	if (f)
		(void)fclose(f);
}

void memory_trim(void)
{
	malloc_trim(0);
	give_back_files();
}

void memory_cache(struct memory_cache *c, struct sql *db, int64_t moved)
{
	bool busy = moved - c->moved > BUSY_MOVES;
	int kib;
	struct err ignored;

	c->moved = moved;
	c->quiet = busy ? 0 : c->quiet + 1;
	if (busy)
		kib = CACHE_BUSY_KIB;
	else if (!c->kib || c->quiet >= QUIET_CALLS)
		kib = CACHE_IDLE_KIB;
	else
		kib = c->kib;
	if (kib != c->kib && sql_cache(db, kib, &ignored) == 0)
		c->kib = kib;
}
