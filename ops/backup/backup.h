#ifndef OPS_BACKUP_BACKUP_H
#define OPS_BACKUP_BACKUP_H

#include "ops/backup/manifest.h"
#include "ops/progress.h"
#include "schema/home.h"

/*
 * A backup of a home: one archive (ops/backup/archive_write.h) with a compact
 * snapshot of each database, the configuration, definitions that are stored in
 * files, and optionally workspaces. It never contains credentials. Runs
 * continue meanwhile.
 *
 * It is one cut: the control plane is copied first, the agents' files after it.
 * A worker commits to its file before it reports to the supervisor, so
 * everything that the control plane acknowledges is in the agents' snapshots.
 * These may be ahead of it; ops/backup/restore_fixup.h resolves that.
 */
struct backup_options {
	const struct home *home;
	const char *id;            /* bak_… */
	const char *const *agents; /* only these; NULL: all */
	int nagents;
	bool with_workspaces;
	bool zstd;
	int fd; /* the output; may be a pipe */
	const char *name;
	struct ops_progress progress; /* agents done, and the total */
};

struct backup_sum {
	int64_t bytes;
	int64_t files;
	int64_t agents;
	int64_t problems;   /* items that are damaged or missing */
	char problem[1024]; /* the first one */
	char sha256[65];
};

int backup_write(const struct backup_options *options, struct backup_sum *out,
		 struct err *e);

/*
 * Opens every snapshot (integrity_check, foreign_key_check), and compares all
 * hashes and the trailer. ERR_CORRUPT has the reason. `scratch` is a directory
 * for one snapshot at a time. tell: bytes read, of `size` (0: unknown).
 * out->problems counts the problems that were recorded when the backup was
 * made.
 */
struct verify_options {
	int fd;
	const char *name;
	const char *scratch;
	int64_t size;
	struct ops_progress progress;
};

int backup_verify(const struct verify_options *options, struct manifest *m,
		  struct backup_sum *out, struct err *e);

#endif
