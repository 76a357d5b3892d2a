#ifndef OPS_BACKUP_ARCHIVE_READ_H
#define OPS_BACKUP_ARCHIVE_READ_H

#include "lib/base/hash.h"
#include "ops/backup/archive_trailer.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * Reads an archive of ops/backup/archive_write.h sequentially, also from a
 * pipe. Its content can be trusted only after unpack_end has verified the
 * trailer. Paths outside the target (absolute, "..") are rejected as damage.
 */
struct unpack;

struct unpack_item { /* valid until the next call */
	const char *path;
	const char *link; /* target of a symbolic link, else NULL */
	mode_t mode;      /* kind and permissions */
	int64_t bytes;
	int64_t mtime_ns;
};

int unpack_new(struct unpack **out, int fd, const char *name, struct err *e);
void unpack_free(struct unpack *u); /* accepts NULL */

/* 1 and the next item, 0 at the end, -1. */
int unpack_next(struct unpack *u, struct unpack_item *out, struct err *e);

/* Writes the bytes of this item to fd (-1: none) and hashes them. */
int unpack_data(struct unpack *u, int fd, const char *to, char sha256[HASH_HEX],
		struct err *e);

/* Reads the rest and verifies the trailer. */
int unpack_end(struct unpack *u, struct err *e);

int64_t unpack_read(const struct unpack *u); /* bytes read so far */

#endif
