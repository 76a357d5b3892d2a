#ifndef LIB_BASE_ID_H
#define LIB_BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Ids: a prefix for the kind, then 26 characters of base 32 (digits and
 * lower-case letters without i, l, o, u). They have 128 bits: 48 of
 * milliseconds, 20 of nanoseconds within the millisecond (incremented if a
 * process asks twice in the same nanosecond), 60 random. Plain string
 * comparison therefore sorts ids by creation time: always within a process, and
 * between processes of one host whenever one id existed before the other was
 * requested. The time wraps in the year 10889.
 */
enum id_kind {
#define ID(name, prefix) ID_##name,
#include "lib/base/id.def"
#undef ID
	ID_KINDS
};

#define ID_BODY 26
#define ID_SIZE (3 + 1 + ID_BODY + 1) /* including the NUL */

struct id {
	char text[ID_SIZE];
};

struct id id_new(enum id_kind kind);
bool id_is(enum id_kind kind, const char *text); /* well-formed, right prefix */
/* The lowest id of a time in milliseconds: no row has it. */
struct id id_at(enum id_kind kind, int64_t ms);
int64_t id_time(const char *text); /* milliseconds; -1 if not an id */
const char *id_prefix(enum id_kind kind);

/* n random bytes from the kernel, for tokens and secrets. */
void id_random(void *out, unsigned n);

#endif
