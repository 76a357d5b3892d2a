#ifndef LIB_JSON_JSON_SCAN_H
#define LIB_JSON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* Tokens of JSON text, shared by the files of base/json*. */

#define JSON_ESCAPE 6 /* bytes of \uXXXX */

/* The length of the number at p as RFC 8259 defines it, or 0. */
size_t json_number_length(const char *p, const char *end);

/* The code unit of an escape \uXXXX at p, or -1. */
int json_unit_at(const char *p, const char *end);

static inline bool json_is_high(int unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static inline bool json_is_low(int unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

#endif
