#ifndef OPS_BACKUP_EXTRACT_H
#define OPS_BACKUP_EXTRACT_H

#include "ops/backup/backup.h"

/*
 * Extracts an archive into an empty directory and verifies it: each database is
 * opened, each hash compared with the manifest, the trailer with all bytes.
 * Only if this returns 0 is the content of the directory a backup; otherwise
 * ERR_CORRUPT has the reason. The files are not synced.
 */
struct extract_options {
	int fd;
	const char *name;
	const char *dir;
	bool keep; /* false: each file is deleted after it was checked */
	const char *const *agents; /* keep only what belongs to these agents */
	int nagents;               /* 0: all */
	int64_t size;              /* of the archive; 0: unknown */
	struct ops_progress progress;
};

int extract(const struct extract_options *options, struct manifest *m,
	    struct backup_sum *out, struct err *e);

#endif
