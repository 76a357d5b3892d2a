#ifndef OPS_BACKUP_ARCHIVE_READ_H
#define OPS_BACKUP_ARCHIVE_READ_H

#include "lib/base/hash.h"
#include "ops/backup/checksum.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * An archive of ops/backup/archive_write.h, read from front to back; a pipe
 * will do. What comes out is to be trusted only when unpack_end has found the
 * seal to be right. Paths that lead out of the target (absolute, "..") are
 * refused as damage.
 */
struct unpack;

struct unpack_item { /* valid until the next call */
	const char *path;
	const char *link; /* of a symbolic link, else NULL */
	mode_t mode;      /* kind and permissions */
	int64_t bytes;
	int64_t mtime_ns;
};

int unpack_new(struct unpack **out, int fd, const char *name, struct err *e);
void unpack_free(struct unpack *u); /* NULL is fine */

/* 1 and the next item, 0 at the end, -1. */
int unpack_next(struct unpack *u, struct unpack_item *out, struct err *e);

/* The bytes of this item into fd (-1: nowhere) and their hash. */
int unpack_data(struct unpack *u, int fd, const char *to, char sha256[HASH_HEX],
		struct err *e);

/* Reads what is left and checks the seal. */
int unpack_end(struct unpack *u, struct err *e);

int64_t unpack_read(const struct unpack *u); /* bytes read so far */

#endif
