#ifndef VFS_TRANSFER_LIBARCHIVE_H
#define VFS_TRANSFER_LIBARCHIVE_H

#include "lib/base/err.h"

#include <archive.h>
#include <archive_entry.h>

/*
 * libarchive, loaded on first use: it loads 11 other libraries, which took half
 * of the start time of every command. libarchive.write_new is
 * archive_write_new, and so on (vfs/transfer/libarchive.def).
 */
struct libarchive {
#define CALL(name) __typeof__(archive_##name) *name;
#include "vfs/transfer/libarchive.def"
#undef CALL
};

extern struct libarchive libarchive;

/* Before the first call. ERR_UNSUPPORTED if it is not installed. */
int libarchive_load(struct err *e);

#endif
