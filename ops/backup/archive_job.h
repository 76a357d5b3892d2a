#ifndef OPS_BACKUP_ARCHIVE_JOB_H
#define OPS_BACKUP_ARCHIVE_JOB_H

#include "lib/base/buf.h"
#include "ops/backup/archive_write.h"
#include "ops/backup/manifest.h"
#include "ops/staging_dir.h"
#include "schema/home.h"

#include <stdbool.h>

/*
 * An archive that is being written: for backups and for exports of agents. Files
 * are packed one by one, and each is listed in the manifest, which is the last
 * file. Databases are copied to a staging directory first. A job that is all
 * zero except for work.lock = -1 may be freed.
 */
struct archive_target {
	const struct home *home;
	const char *id;   /* of the archive */
	const char *name; /* for errors */
	int fd;           /* borrowed */
	bool zstd;
	bool with_workspaces;
};

struct archive_job {
	struct pack *pack;
	struct buf manifest;
	struct staging_dir work;
};

#define ARCHIVE_JOB                   \
	{                             \
		.work = {.lock = -1 } \
	}

/* After a failure, archive_free is still required. */
int archive_begin(struct archive_job *j, const struct archive_target *to,
		  struct err *e);
/* Writes the manifest and the trailer; *sum is that of the whole archive. */
int archive_end(struct archive_job *j, struct pack_sum *sum, struct err *e);
void archive_free(struct archive_job *j);

#endif
