#ifndef OPS_MAINTAIN_WAL_READERS_H
#define OPS_MAINTAIN_WAL_READERS_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

/*
 * Who reads a database right now. A reader that goes on for long keeps the
 * write-ahead log from being used again: it grows without end. The kernel knows
 * who has which lock on the -shm file, and the file itself how far each of them
 * reads; nobody knows since when. So what was seen is noted, and who is seen
 * again with the same end of what it reads has read since then, at least.
 */
#define READER(F, S)                                                 \
	F(S, text, path)                                             \
	F(S, i64, pid) /* 0: of another container */                 \
	F(S, text, program)                                          \
	F(S, i64, pinned_frames) /* written since, and held back */  \
	F(S, i64, age_ms)        /* it reads for at least as long */ \
	F(S, i64, process_ms)    /* and for at most as long */
SHAPE_DECLARE(reader, READER);

struct readers;

/* A look at the machine, for any number of databases: the kernel's list costs
 * milliseconds. `notes` is a file of earlier looks; NULL: none. */
struct readers *readers_look(const char *notes);

/* Readers of the database at path, other than this process, as an array in the
 * arena: how many; 0 also where the kernel does not tell. */
int readers_of(struct readers *r, const char *path, struct reader **out,
	       struct arena *a);

/* Notes what readers_of has found, for later looks. */
int readers_note(const struct readers *r, struct err *e);
void readers_free(struct readers *r); /* NULL is fine */

#endif
