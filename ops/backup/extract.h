#ifndef OPS_BACKUP_EXTRACT_H
#define OPS_BACKUP_EXTRACT_H

#include "ops/backup/backup.h"

/*
 * Everything of an archive into an empty directory, checked on the way: each
 * database is opened, each hash compared with the manifest, the seal with all
 * bytes. Only when this returns 0 is what lies in the directory a backup; else
 * ERR_CORRUPT says what is wrong with it. It is not yet on the disk.
 */
struct extract_options {
	int fd;
	const char *name;
	const char *dir;
	bool keep; /* false: each file is removed once it was checked */
	const char *const *agents; /* of agents' things keep only these's */
	int nagents;               /* 0: all */
	int64_t size;              /* of the archive; 0: unknown */
	struct ops_tell tell;
};

int extract(const struct extract_options *ask, struct manifest *m,
	    struct backup_sum *out, struct err *e);

#endif
