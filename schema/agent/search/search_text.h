#ifndef SCHEMA_AGENT_SEARCH_SEARCH_TEXT_H
#define SCHEMA_AGENT_SEARCH_SEARCH_TEXT_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

/* Pure functions of the full-text search: the indexed text of a JSON value, and
 * a user's query as an FTS5 expression. */

#define SEARCH_QUERY_MAX 4096 /* bytes */
#define SEARCH_WORDS_MAX 64

/*
 * Appends the strings of a JSON text to out, one per line: those in or below
 * the members of search.def, or all of them. Text above the limit of out is
 * left out. Any bytes are accepted; from invalid JSON, the readable strings are
 * used.
 */
void search_text_json(const char *json, bool all, struct buf *out);

/* Appends plain text and a newline, as far as they fit; NULL appends
 * nothing. */
void search_text_plain(const char *text, struct buf *out);

/*
 * Writes an expression that is always valid for FTS5: every word is quoted and
 * required, "…" is a phrase, a * at the end of a word makes it a prefix.
 * ERR_USAGE if it contains no word, or too many.
 */
int search_text_query(const char *words, struct buf *out, struct err *e);

#endif
