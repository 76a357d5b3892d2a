#ifndef TESTS_SUPPORT_VFS_FUZZ_H
#define TESTS_SUPPORT_VFS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/*
 * For fuzzers that damage a file: a directory of their own that is removed at
 * the end of the process, and copies of a good file with bytes changed.
 */
struct sql;
struct vfs;

/* A new agent file with an empty namespace; both stay open. */
struct vfs *fuzz_space(struct sql **db);

/* Paths in that directory; NAME.sqlite and what SQLite puts beside it. They
 * stay valid. */
const char *fuzz_path(const char *name);
void fuzz_remove(const char *path); /* with what is beside it */

/* Writes `good` to path with edits: 4 bytes each, of which 3 say where (the
 * page first, then the byte in it, so that small inputs reach everything) and
 * one which bits are turned. */
void fuzz_damage(const char *path, const uint8_t *good, size_t n,
		 const uint8_t *edits, size_t size);

/* Some of everything that a tree can have. */
void fuzz_fill(struct vfs *v);

/* A file's bytes; the caller frees them. */
uint8_t *fuzz_read(const char *path, size_t *n);

/* Whether a failure is told as it should be: aborts otherwise. */
struct err;
void fuzz_check_error(const struct err *e);

#endif
