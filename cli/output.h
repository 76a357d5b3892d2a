#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stdint.h>
#include <stdio.h>

/*
 * The output of commands. Rows and objects are printed from their shape, as
 * JSON or for users. Control characters in data are escaped on a terminal. If
 * the reader of a pipe closes it, the program ends without an error.
 */
struct output {
	FILE *to; /* on a terminal a filter, which has no descriptor */
	int fd;
	bool json;
	bool colour;
	bool exact; /* tables: complete ids and times, no cut */
	int width;  /* columns of the terminal, 0: no limit */
	int height; /* lines of the terminal, 0: no limit */
	FILE *pager;
};

void output_init(struct output *o, FILE *to, bool json, bool no_colour);

/* Flushes; ERR_IO or ERR_FULL if anything could not be written. */
int output_end(struct output *o, struct err *e);

/* From now on, the output goes through $SKEP_PAGER, $PAGER or less, until
 * output_page_end, which waits for the user. Only on a terminal. */
void output_page_begin(struct output *o);
void output_page_end(struct output *o);

/*
 * A list. `columns` names the fields of the table in order, "name state
 * updated_at"; JSON contains all fields. Rows are borrowed during the call. The
 * first rows determine the widths, so long lists need little memory.
 *
 * On a terminal, the table fits its width: long cells are cut, and the last
 * columns are left out if there is no room. Ids are shortened, times are ages,
 * states have a glyph and a colour, and a long table goes through a pager.
 * Elsewhere everything is printed in full.
 */
struct table;

struct table *table_new(struct output *o, const struct shape *shape,
			const char *columns);
void table_add(struct table *t, const void *row);
void table_end(struct table *t); /* prints buffered rows and frees the list */

/* Prints an object: "field: value" lines, or one JSON object. */
void output_object(struct output *o, const struct shape *shape,
		   const void *obj);

/* Prints a JSON object that is given as text without a newline. */
void output_json(struct output *o, const char *text);

/* A JSON document with line breaks: unchanged, or on one line with --json. */
int output_document(struct output *o, const char *text, struct err *e);

/* The result of a command: a sentence, or the object with --json. */
void output_result(struct output *o, const struct shape *shape, const void *obj,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* For users only; prints nothing with --json. */
void output_note(struct output *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* External text with line breaks: other control characters are escaped. */
void output_text(struct output *o, const char *p, size_t n);

/* Appends the table cell of one field to b. */
void output_cell(struct buf *b, const struct field *f, const void *obj);

/* The same for people: a short id, an age ("2 min ago"). */
void output_short_cell(struct buf *b, const struct field *f, const void *obj);

#define OUTPUT_ID_SHOWN 12 /* characters of a short id */
#define OUTPUT_AGE      48

/* "just now", "2 min ago", "in 3 h"; `now` and `then` in milliseconds. */
const char *output_age(int64_t then, int64_t now, char out[OUTPUT_AGE]);

/* The glyph and the style of a state, of a run or another object. */
struct output_state {
	const char *glyph; /* "" if the word is not a state */
	int style;         /* enum output_style */
};

struct output_state output_state(const char *word);

/* Adds text to b with control characters and invalid UTF-8 escaped; line breaks
 * and tabs too unless `lines`. */
void output_safe(struct buf *b, const char *p, size_t n, bool lines);

/* Columns that the text takes on a terminal. */
int output_columns(const char *p, size_t n);

/* Adds the first characters that fit in `width` columns, with … for the rest. */
void output_cut(struct buf *b, const char *text, int width);

enum output_style {
	STYLE_PLAIN,
	STYLE_HEAD,
	STYLE_GOOD,
	STYLE_BAD,
	STYLE_WARN,
	STYLE_DIM
};

/* Escape sequences for a style, "" without colour. */
const char *output_style(const struct output *o, enum output_style s);

/* output_note with a word in that style in front of it. */
void output_label(struct output *o, enum output_style style, const char *word,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * A progress bar on stderr, if that is a terminal and the output is not JSON:
 *   struct progress p; progress_begin(&p, o, "importing", total);
 *   progress_at(&p, done); … progress_end(&p);
 * If total is 0, it is unknown, and a count is shown. The bar is redrawn at
 * most ten times a second.
 */
struct progress {
	const char *what;
	int64_t total;
	int64_t start_ns;
	int64_t drawn_ns;
	bool on;
};

void progress_begin(struct progress *p, const struct output *o,
		    const char *what, int64_t total);
void progress_at(struct progress *p, int64_t done);
void progress_end(struct progress *p);

#endif
