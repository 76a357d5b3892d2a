#ifndef SCHEMA_VOCAB_H
#define SCHEMA_VOCAB_H

#include "lib/base/err.h"

#include <stddef.h>

/*
 * Closed vocabularies of both databases (vocab.def). SQL has them as CHECKs; C
 * code checks here first, so that the error lists the allowed words.
 */
struct vocab {
	const char *database; /* "agent", "control" */
	const char *table;
	const char *column;
	const char *words; /* "active|archived|deleted" */
};

/* The words of one column, for tables: vocab_control_run_state. */
#define VOCAB(database, table, column, words) \
	extern const char vocab_##database##_##table##_##column[];
#include "schema/vocab.def"
#undef VOCAB

extern const struct vocab vocabs[];
extern const size_t vocab_count;

/* The vocabulary "TABLE.COLUMN", or NULL. */
const struct vocab *vocab_find(const char *name);

/* Whether value is a word of the list "a|b|c". */
bool vocab_has(const char *words, const char *value);

/* 0, or -1 with ERR_INVALID: "'gone' is not a valid session status: active,
 * archived or deleted". `name` must exist. */
int vocab_check(const char *name, const char *value, struct err *e);

#endif
