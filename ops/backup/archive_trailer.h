#ifndef OPS_BACKUP_ARCHIVE_TRAILER_H
#define OPS_BACKUP_ARCHIVE_TRAILER_H

#include "lib/base/err.h"

#include <stddef.h>

/*
 * The last bytes of an archive: the SHA-256 of every byte before them. It
 * detects one flipped byte anywhere, also where tar itself would not look
 * (padding, the end). tar ignores the block, and zstd treats it as a skippable
 * frame, so other programs can read the archive.
 */
#define TRAILER_BYTES 512

/* The block for a hash of 64 hex digits. */
void trailer_make(char block[TRAILER_BYTES], const char *hex);

/* ERR_CORRUPT, naming `what`, unless it is exactly that block. */
int trailer_check(const char *block, size_t n, const char *hex,
		  const char *what, struct err *e);

#endif
