#ifndef LIB_HTTP_INPUT_H
#define LIB_HTTP_INPUT_H

#include "lib/base/err.h"
#include "lib/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Declared input of routes: parameters of the path and the query, members of
 * the body. The server checks a request against its route's rows before it
 * calls the handler, and the OpenAPI document lists the same rows. The tables
 * are const and borrowed.
 */
enum http_kind {
	HTTP_KIND_TEXT,
	HTTP_KIND_WORD, /* one of `words` */
	HTTP_KIND_INTEGER,
	HTTP_KIND_BOOLEAN,
	HTTP_KIND_OBJECT,
	HTTP_KIND_ARRAY, /* of strings; of `words` if given */
	HTTP_KIND_LIST,  /* an array of anything */
	HTTP_KIND_FILES, /* of {"name", "type", "base64"}; max: their bytes */
	HTTP_KIND_ANY
};

/* Rules for the characters of a text; all texts are UTF-8 without NUL. */
enum http_form {
	HTTP_FORM_ANY,
	HTTP_FORM_KEY,  /* no control characters */
	HTTP_FORM_NAME, /* text_check_name */
	HTTP_FORM_ID    /* an id of lib/base/id.h; `words` is its prefix */
};

struct http_type {
	const char *name;
	enum http_kind kind;
	enum http_form form;
	int64_t min, max;  /* value of an integer, bytes of a text, items of an
			    * array; max of an object: bytes of its JSON */
	const char *words; /* "a|b|c", or NULL */
};

enum http_place { HTTP_IN_PATH, HTTP_IN_QUERY, HTTP_IN_BODY };

enum http_need {
	HTTP_OPTIONAL, /* null in a body counts as absent */
	HTTP_NOTNULL,  /* absent, or a value: its default is not null */
	HTTP_REQUIRED
};

#define HTTP_OTHERS "*" /* body: undeclared members may follow */

struct http_input {
	size_t route; /* index of its row; not for a member of a body */
	enum http_place in;
	const char *name;
	const struct http_type *type;
	enum http_need need;
};

/* Checks one value; on -1 the error names it. A value of a query or path is
 * text, and the error is ERR_USAGE; a value of a body is JSON, and the error is
 * ERR_INVALID. A text over its limit is ERR_TOOBIG. */
int http_input_text(const struct http_input *in, const char *value,
		    struct err *e);
int http_input_json(const struct http_input *in, const cJSON *value,
		    struct err *e);

/* Whether the size of a body member is limited, and an upper bound of its bytes
 * in a body. */
bool http_input_is_bounded(const struct http_input *in);
size_t http_input_bytes(const struct http_input *in);

/* The boolean value of a query parameter: "", "1" and "true" are true. */
bool http_input_true(const char *value);

/* Appends the JSON schema of a type, with a default value unless that is
 * NULL. */
void http_input_schema(struct buf *out, const struct http_input *in,
		       const char *otherwise);

#endif
