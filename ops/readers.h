#ifndef OPS_READERS_H
#define OPS_READERS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/shape.h"

/*
 * Who reads a database right now. A reader that goes on for long keeps the
 * write-ahead log from being used again: it grows without end. The kernel knows
 * who has which lock on the -shm file.
 */
#define READER(F, S)                                 \
	F(S, text, path)                             \
	F(S, i64, pid) /* 0: of another container */ \
	F(S, text, program)                          \
	F(S, i64, age_ms) /* of the process: it reads for less */
SHAPE_DECLARE(reader, READER);

/* Readers of the database at path, other than this process, as an array in the
 * arena: how many; 0 also where the kernel does not tell. */
int readers_of(const char *path, struct reader **out, struct arena *a);

#endif
