#include "supervisor/core/memory_trim.h"

#include "lib/db/sql.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

#define CACHE_IDLE_KIB 256
#define CACHE_BUSY_KIB 2048 /* 64 deliveries at once need half of it */
#define BUSY_MOVES     50   /* between two calls */
#define QUIET_CALLS    8
#define ARENAS         2

/* Free memory is returned to the kernel. There are two malloc arenas: with one,
 * the loop and libcurl's thread would contend for it with every message; more
 * would keep unused memory. */
void memory_configure(void)
{
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	/* this pool is for work that waits only for the disk */
	setenv("UV_THREADPOOL_SIZE", "2", 0);
}

void memory_trim(void)
{
	malloc_trim(0);
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
