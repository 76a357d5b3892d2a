#ifndef LIB_JSON_JSON_H
#define LIB_JSON_JSON_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <cjson/cJSON.h>

/* JSON: cJSON for reading, plain buffers for writing. */

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
 * control characters are escaped. Returns the number of replacements. */
size_t json_repair(const char *text, size_t n, struct buf *out);

/* Like json_parse, but requires an object. */
cJSON *json_parse_object(const char *what, const char *text, size_t n,
			 struct err *e);

/* Appends the compact text of a value to b. */
void json_add(struct buf *b, const cJSON *v);

/* Appends a JSON string with its quotes. Invalid UTF-8 and NUL become U+FFFD,
 * so json_parse accepts what is written here. */
void json_add_string(struct buf *b, const char *s, size_t n);

/* Appends JSON from a database, where another program may have stored anything.
 * Valid JSON is copied, strings in it are repaired as by json_repair, and other
 * text becomes a JSON string. The result is one line. */
void json_add_stored(struct buf *b, const char *text);

/* An object with every field of the shape, in order; NULL as null, blobs as
 * their length, fields of type json as by json_add_stored. */
void json_add_shape(struct buf *b, const struct shape *s, const void *obj);

/* Adds a member to the object at the end of b: a comma unless it is the first
 * member, the name, which needs no escapes, and the text as a JSON string. An
 * empty buffer gets the opening brace too. A NULL text adds nothing. */
void json_add_member(struct buf *b, const char *name, const char *text);

/* Appends the value of one field. */
void json_add_field(struct buf *b, const struct field *f, const void *obj);

/* Member `name` of an object; NULL if it is absent or obj is not an object. */
const cJSON *json_member(const cJSON *obj, const char *name);

/* Member `name` of an object as text, or `other` if it is absent or not a
 * string. */
const char *json_text(const cJSON *obj, const char *name, const char *other);
int64_t json_i64(const cJSON *obj, const char *name, int64_t other);
bool json_bool(const cJSON *obj, const char *name, bool other);

#endif
