#ifndef SUPERVISOR_API_AGENT_FILE_CACHE_H
#define SUPERVISOR_API_AGENT_FILE_CACHE_H

#include "schema/agent/agent_file.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * A few agent files, open for reading, the least used given up first: readers
 * come in bursts on the same files, and opening costs ten times a read. All
 * zero is a valid empty one.
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
/* Gives up those that were not used for a while, or are lost (sql_lost). */
void agent_files_expire(struct agent_files *s);

/* Where the registry says it is: 1, 0 if the agent has no file yet, -1. *out is
 * good until the next call. */
int agent_files_get(struct agent_files *s, struct sql *control,
		    const char *agent, struct agent_file **out, struct err *e);

#endif
