#ifndef LIB_HTTP_BODY_H
#define LIB_HTTP_BODY_H

#include "lib/base/arena.h"
#include "lib/http/input.h"

/*
 * The body of a route: a JSON object whose members are declared. It is checked
 * as a whole before the handler is called; then its values can be copied into a
 * struct. The tables are const and borrowed.
 */
struct http_member {
	struct http_input input;
	const char *otherwise; /* value if it is absent or null, as text; NULL:
				* NULL, OPT_NONE or false */
	size_t offset;         /* in the struct */
};

struct http_body {
	const char *name;
	size_t size; /* of the struct; 0: there is none */
	const struct http_member *members;
	size_t n;
};

/* The C type of a value in the struct, by its kind. */
typedef const char *http_value_TEXT;
typedef const char *http_value_WORD;
typedef int64_t http_value_INTEGER;
typedef bool http_value_BOOLEAN;
typedef const char *http_value_OBJECT; /* JSON, as the following ones */
typedef const char *http_value_ARRAY;
typedef const char *http_value_LIST;
typedef const char *http_value_FILES;
typedef const char *http_value_ANY;

/* Any bytes; they are neither parsed nor checked. */
extern const struct http_body http_body_raw;

/* Whether members that are not declared are allowed. */
bool http_body_is_open(const struct http_body *b);

/* The maximum size of a valid body; SIZE_MAX: unlimited. NULL: no body. */
size_t http_body_max(const struct http_body *b);

/* Checks a parsed body: -1 with ERR_INVALID or ERR_TOOBIG names the member that
 * is unknown, repeated, missing or invalid. NULL allows no member. */
int http_body_check(const struct http_body *b, const cJSON *json,
		    struct err *e);

/* The struct of a body that was checked, in the arena. */
void *http_body_struct(const struct http_body *b, const cJSON *json,
		       struct arena *a);

#endif
