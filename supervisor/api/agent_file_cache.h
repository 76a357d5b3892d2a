#ifndef SUPERVISOR_API_AGENT_FILE_CACHE_H
#define SUPERVISOR_API_AGENT_FILE_CACHE_H

#include "schema/agent/agent_file.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * A cache of a few agent files that are open for reading, with LRU eviction.
 * Reads of a file come in bursts, and opening it costs ten times a read. All
 * zero is a valid empty cache.
 */
#define AGENT_FILES 8

struct agent_files {
	struct agent_files_slot {
		struct agent_file file; /* .db NULL: free */
		char *path;
		ino_t inode;
		int64_t used; /* clock_mono_ns */
	} slots[AGENT_FILES];
};

void agent_files_close(struct agent_files *s);
/* Closes files that were not used for a while or are lost (sql_lost). */
void agent_files_expire(struct agent_files *s);

/* Opens the file of an agent: 1, 0 if the agent has no file yet, or -1. *out is
 * valid until the next call. */
int agent_files_get(struct agent_files *s, struct sql *control,
		    const char *agent, struct agent_file **out, struct err *e);

#endif
