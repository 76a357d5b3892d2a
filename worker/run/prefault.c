#include "worker/run/prefault.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ /* Linux 5.14; older kernels reject it, which is
			    * harmless */
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#define HEAP_ROOM \
	(320u << 10)             /* needed to open a file and for the first
				  * commit */
#define STACK_ROOM  (128u << 10) /* the plan of a sandbox needs most of it */
#define MAPPING_MAX (8ul << 20)  /* more than this is reserved space */

/* Memory that the heap keeps when it is freed. */
static void touch_heap(void)
{
	char *room;

	mallopt(M_MMAP_THRESHOLD, 2 * HEAP_ROOM);
	mallopt(M_TRIM_THRESHOLD, 4 * HEAP_ROOM);
	room = malloc(HEAP_ROOM);
	if (room)
		explicit_bzero(room, HEAP_ROOM);
	free(room);
}

/* Programs of which a run uses most. The pages of others, such as libcrypto, take
 * longer to unmap when the worker exits than the few faults that they save. */
static bool is_used(const char *line)
{
	static const char *const used[] = {"/skep-", "/libsqlite3.", "/libc.",
					   "/libcjson.", "/libseccomp."};

	for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
		if (strstr(line, used[i]))
			return true;
	return false;
}

/* A line of /proc/self/maps: writable private memory is copied, programs are
 * mapped. */
static void touch_mapping(const char *line)
{
	unsigned long begin, end;
	char perms[8];
	void *at;

	if (sscanf(line, "%lx-%lx %7s", &begin, &end, perms) != 3 ||
	    perms[0] != 'r')
		return;
	if (strstr(line, "[stack]") && end - begin > STACK_ROOM)
		begin = end - STACK_ROOM;
	if (end - begin > MAPPING_MAX)
		return;
	at = (void *)(uintptr_t)begin; /* NOLINT(performance-no-int-to-ptr) */
	if (perms[1] == 'w' && perms[3] == 'p')
		(void)madvise(at, end - begin, MADV_POPULATE_WRITE);
	else if (perms[2] == 'x' && is_used(line))
		(void)madvise(at, end - begin, MADV_POPULATE_READ);
}

void prefault(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4500];

	while (f && fgets(line, sizeof line, f))
		touch_mapping(line);
	if (f)
		(void)fclose(f);
	touch_heap();
}
