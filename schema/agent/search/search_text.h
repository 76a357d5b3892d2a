#ifndef SCHEMA_AGENT_SEARCH_SEARCH_TEXT_H
#define SCHEMA_AGENT_SEARCH_SEARCH_TEXT_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* The two translations of the full-text search: what is indexed of a JSON text,
 * and what a person's words are as an FTS5 expression. Both are pure. */

#define SEARCH_QUERY_MAX 4096 /* bytes */
#define SEARCH_WORDS_MAX 64

/*
 * Appends the strings of a JSON text to out, a line each: those in or below the
 * members of search.def, or all of them. What does not fit under out's ceiling
 * is left out. Any bytes are taken; from what is not JSON comes what can be
 * read as strings.
 */
void search_text_json(const char *json, bool all, struct buf *out);

/* Appends plain text and a newline, as far as it fits; NULL is nothing. */
void search_text_plain(const char *text, struct buf *out);

/*
 * An expression that FTS5 always takes: every word quoted and required, "…" a
 * phrase, a * at the end of a word a beginning. ERR_USAGE when there is
 * nothing in it to look for, or too much.
 */
int search_text_query(const char *words, struct buf *out, struct err *e);

#endif
