#ifndef OPS_BACKUP_ARCHIVE_WRITE_H
#define OPS_BACKUP_ARCHIVE_WRITE_H

#include "lib/base/hash.h"
#include "ops/backup/archive_trailer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Writes one archive sequentially: tar (pax), optionally zstd, and a trailer at
 * the end. It is written to a file descriptor of the caller, which may be a
 * pipe. Paths inside are relative and unique. The first failure sticks;
 * ERR_FULL if the disk is full.
 */
struct pack;

int pack_new(struct pack **out, int fd, const char *name, bool zstd,
	     struct err *e);
void pack_free(struct pack *k); /* accepts NULL; does not finish it */

struct pack_sum {
	int64_t bytes;
	char sha256[HASH_HEX];
};

/* Adds the regular file `from` as `path`, 0600. */
int pack_file(struct pack *k, const char *path, const char *from,
	      struct pack_sum *out, struct err *e);
int pack_bytes(struct pack *k, const char *path, const void *bytes, size_t n,
	       struct pack_sum *out, struct err *e);

/* Adds a directory with everything below it: files, directories, links; modes
 * and times. A file that shrinks meanwhile is padded with zeros, one that grows
 * is truncated. Items that cannot be read are counted in *skipped. */
int pack_tree(struct pack *k, const char *path, const char *dir,
	      int64_t *skipped, struct err *e);

/* Writes the end and the trailer; returns bytes and hash of the whole
 * archive. */
int pack_end(struct pack *k, struct pack_sum *out, struct err *e);

#endif
