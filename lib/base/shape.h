#ifndef LIB_BASE_SHAPE_H
#define LIB_BASE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A shape lists the fields of a struct once. SQL, JSON, IPC messages and tables
 * on a terminal all use shapes, so none of them has code per struct. Text and
 * blobs in a shaped struct are borrowed; the function that fills the struct
 * documents for how long.
 *
 * Shapes of database rows are generated from the .sql files (tools/sqlgen.c);
 * others are written with SHAPE_DECLARE and SHAPE_DEFINE.
 */
struct blob {
	const void *p;
	size_t n;
};

/* An `opt` field holds this where SQL has NULL and JSON has null. */
#define OPT_NONE INT64_MIN

typedef int64_t field_i64;  /* SQL NULL reads as 0 */
typedef int64_t field_opt;  /* i64 that may be OPT_NONE */
typedef int64_t field_time; /* milliseconds since 1970, may be OPT_NONE */
typedef bool field_bool;    /* 0 or 1 in SQL */
typedef double field_f64;
typedef const char *field_text; /* NULL is SQL NULL, JSON null */
typedef const char *field_json; /* text that is itself JSON */
typedef struct blob field_blob; /* .p NULL is SQL NULL */

enum field_type {
	FIELD_i64,
	FIELD_opt,
	FIELD_time,
	FIELD_bool,
	FIELD_f64,
	FIELD_text,
	FIELD_json,
	FIELD_blob
};

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
};

struct shape {
	const char *name;
	size_t size;
	size_t nfields;
	const struct field *fields;
};

/* FIELDS is a macro: #define RUN_KEY(F, S) F(S, i64, id) F(S, text, why) */
#define SHAPE_DECLARE(tag, FIELDS)         \
	struct tag {                       \
		FIELDS(SHAPE_MEMBER_, tag) \
	};                                 \
	extern const struct shape tag##_shape

#define SHAPE_DEFINE(tag, FIELDS)                             \
	static const struct field tag##_fields[] = {          \
		FIELDS(SHAPE_FIELD_, tag)};                   \
	const struct shape tag##_shape = {                    \
		#tag,                                         \
		sizeof(struct tag),                           \
		sizeof tag##_fields / sizeof tag##_fields[0], \
		tag##_fields,                                 \
	}

#define SHAPE_MEMBER_(tag, type, name) field_##type name;
#define SHAPE_FIELD_(tag, type, name) \
	{#name, FIELD_##type, offsetof(struct tag, name)},

static inline const void *field_in(const struct field *f, const void *obj)
{
	return (const char *)obj + f->offset;
}

static inline void *field_out(const struct field *f, void *obj)
{
	return (char *)obj + f->offset;
}

/* The field with the first n bytes of this name, or NULL. */
static inline const struct field *shape_field(const struct shape *s,
					      const char *name, size_t n)
{
	for (size_t i = 0; i < s->nfields; i++)
		if (!strncmp(s->fields[i].name, name, n) &&
		    !s->fields[i].name[n])
			return &s->fields[i];
	return NULL;
}

#endif
