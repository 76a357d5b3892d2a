#ifndef LIB_BASE_MARK_H
#define LIB_BASE_MARK_H

#include <stdint.h>

/*
 * Timestamps at named points of a run (lib/base/marks.def), for benchmarks. When
 * SKEP_MARKS names a file of MARK_FILE_SIZE bytes, programs map it and each
 * mark() adds a record; a child shares the mapping of its parent. Otherwise
 * mark() is a test of one pointer.
 */
enum mark {
#define MARK(name, program, spent) MARK_##name,
#include "lib/base/marks.def"
#undef MARK
	MARKS
};

struct mark_record {
	int64_t at; /* clock_mono_ns */
	int32_t mark;
	int32_t pid;
};

#define MARK_RECORDS 65535 /* further ones are dropped */

struct mark_file {
	_Atomic uint32_t n; /* may be more than MARK_RECORDS */
	uint32_t unused[3];
	struct mark_record record[MARK_RECORDS];
};

#define MARK_FILE_SIZE sizeof(struct mark_file)

extern struct mark_file *mark_file; /* NULL: nothing is recorded */

const char *mark_program(enum mark m);
const char *mark_spent(enum mark m);

void mark_open(void); /* once, at the start of a program */
void mark_add(enum mark m);

static inline void mark(enum mark m)
{
	if (mark_file)
		mark_add(m);
}

#endif
