#ifndef OPS_BACKUP_ARCHIVE_WRITE_H
#define OPS_BACKUP_ARCHIVE_WRITE_H

#include "lib/base/hash.h"
#include "ops/backup/checksum.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * One archive, written from front to back: tar (pax), zstd if wanted, a seal at
 * the end. It goes to a file descriptor, which may be a pipe and stays the
 * caller's. Paths inside are relative and name each thing once. The first
 * failure sticks; ERR_FULL when the disk is.
 */
struct pack;

int pack_new(struct pack **out, int fd, const char *name, bool zstd,
	     struct err *e);
void pack_free(struct pack *k); /* NULL is fine; does not finish it */

struct pack_sum {
	int64_t bytes;
	char sha256[HASH_HEX];
};

/* A regular file at `from` as `path`, 0600. */
int pack_file(struct pack *k, const char *path, const char *from,
	      struct pack_sum *out, struct err *e);
int pack_bytes(struct pack *k, const char *path, const void *bytes, size_t n,
	       struct pack_sum *out, struct err *e);

/* A directory with all below it: files, directories, links; modes and times. A
 * file that shrinks meanwhile is filled with zeros, one that grows is cut. What
 * cannot be read is counted in *skipped. */
int pack_tree(struct pack *k, const char *path, const char *dir,
	      int64_t *skipped, struct err *e);

/* Writes the end and the seal: bytes and hash of all that went out. */
int pack_end(struct pack *k, struct pack_sum *out, struct err *e);

#endif
