#ifndef LIB_JSON_JSON_WRITE_H
#define LIB_JSON_JSON_WRITE_H

#include "lib/base/buf.h"
#include "lib/base/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Writes JSON at the end of a buffer, without white space.
 *
 *	json_begin_object(b);
 *	json_put_text(b, "name", name);
 *	json_put_array(b, "ports");
 *	for (i = 0; i < n; i++)
 *		json_add_int(b, ports[i]);
 *	json_end_array(b);
 *	json_end_object(b);
 *
 * The functions json_add_* write a value: an element of an array, or a text of
 * its own. The functions json_put_* write a member of an object: its name and
 * its value. The writer has no state besides the buffer. Each function writes
 * the comma before its value, if the last byte of the buffer ends a value. So
 * JSON texts that follow each other in one buffer need a line break between
 * them, and other text before JSON must not end in a letter, a digit or a quote.
 *
 * Nothing fails here. A buffer that exceeds its ceiling reports this in buf_ok.
 */

struct cJSON;

void json_begin_object(struct buf *b);
void json_end_object(struct buf *b);
void json_begin_array(struct buf *b);
void json_end_array(struct buf *b);

/* The name of a member. The next call writes its value. */
void json_key(struct buf *b, const char *name);

/* A string. Invalid UTF-8 and NUL become U+FFFD, so json_parse accepts what is
 * written here. */
void json_add_string(struct buf *b, const char *s, size_t n);
void json_add_text(struct buf *b, const char *text); /* NULL: null */

void json_add_int(struct buf *b, int64_t n);
void json_add_real(struct buf *b, double n); /* NaN and infinity: null */
void json_add_bool(struct buf *b, bool is_true);
void json_add_null(struct buf *b);

/* Between these two the caller adds the bytes of a string that need no escapes,
 * for example base64. */
void json_begin_string(struct buf *b);
void json_end_string(struct buf *b);

/* JSON that the caller knows to be valid, without the white space around it. */
void json_add_raw(struct buf *b, const char *json);

/* JSON from a database, where another program may have stored anything. Valid
 * JSON is copied, strings in it are repaired as by json_repair, and other text
 * becomes a JSON string. The result is one line. */
void json_add_stored(struct buf *b, const char *text);

/* The compact text of a parsed value; NULL is written as null. */
void json_add(struct buf *b, const struct cJSON *v);

/* An object with every field of the shape, in order; NULL as null, blobs as
 * their length, fields of type json as by json_add_stored. */
void json_add_shape(struct buf *b, const struct shape *s, const void *obj);

/* The value of one field. */
void json_add_field(struct buf *b, const struct field *f, const void *obj);

/* Members. A NULL text, JSON or value writes nothing, and neither does a number
 * of OPT_NONE in json_put_opt. */
void json_put_object(struct buf *b, const char *name); /* begins it */
void json_put_array(struct buf *b, const char *name);  /* begins it */
void json_put_text(struct buf *b, const char *name, const char *text);
void json_put_nullable(struct buf *b, const char *name,
		       const char *text); /* NULL: null */
void json_put_int(struct buf *b, const char *name, int64_t n);
void json_put_opt(struct buf *b, const char *name, int64_t n);
void json_put_bool(struct buf *b, const char *name, bool is_true);
void json_put_null(struct buf *b, const char *name);
void json_put_raw(struct buf *b, const char *name, const char *json);
void json_put_stored(struct buf *b, const char *name, const char *text);
void json_put(struct buf *b, const char *name, const struct cJSON *v);

/* The members of another object: of valid JSON text, or of a shape. */
void json_put_members(struct buf *b, const char *object);
void json_put_fields(struct buf *b, const struct shape *s, const void *obj);

/* Appends JSON that was written by these functions, in readable form: with
 * spaces, line breaks and indentation. Containers that are nested deeper than
 * `depth` stay in one line. */
void json_indent(struct buf *b, const char *json, int depth);

#endif
