#ifndef LIB_JSON_JSON_H
#define LIB_JSON_JSON_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"
#include "lib/json/json_write.h"

#include <cjson/cJSON.h>

/* Reads and checks JSON. cJSON is the parser; json_write.h is the writer. */

/* One JSON value, followed by white space only. The caller frees it with
 * cJSON_Delete. NULL with ERR_INVALID "WHAT: line 3, column 14: …". Text that
 * is not UTF-8 or contains a NUL, also as \u0000, is rejected. A number that a
 * double cannot represent exactly as written (integers above 2^53, 1.0, 1e400)
 * keeps its text in valuestring, and json_add writes that. */
cJSON *json_parse(const char *what, const char *text, size_t n, struct err *e);

/* Whether json_parse accepts the text, without building a tree. */
bool json_ok(const char *text, size_t n);

/* Replaces what json_parse rejects inside strings, for input that must not be
 * lost: invalid UTF-8, NUL, \u0000 and lone surrogates become U+FFFD; raw
 * control characters are escaped. Returns the number of characters that became
 * U+FFFD. */
#define JSON_REPAIR_GROWTH 6 /* a byte may become \u000a */
size_t json_repair(const char *text, size_t n, struct buf *out);

/* Like json_parse, but requires an object. */
cJSON *json_parse_object(const char *what, const char *text, size_t n,
			 struct err *e);

/* The line of the member at a path such as "config.stdin", or 0. The text is a
 * valid JSON object; a name with a dot is not found. */
int json_line_of(const char *text, const char *path);

/* Member `name` of an object; NULL if it is absent or obj is not an object. */
const cJSON *json_member(const cJSON *obj, const char *name);

/* Member `name` of an object as text, or `other` if it is absent or not a
 * string. */
const char *json_text(const cJSON *obj, const char *name, const char *other);
int64_t json_i64(const cJSON *obj, const char *name, int64_t other);
bool json_bool(const cJSON *obj, const char *name, bool other);

#endif
