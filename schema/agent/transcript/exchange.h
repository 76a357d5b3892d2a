#ifndef SCHEMA_AGENT_TRANSCRIPT_EXCHANGE_H
#define SCHEMA_AGENT_TRANSCRIPT_EXCHANGE_H

#include "lib/base/buf.h"
#include "schema/agent/transcript/history.h"

/*
 * Sessions as JSON lines, to take along or to read elsewhere; what was exported
 * comes back the same: order, ids, parents, keys, parts, usage. First a line
 * {"record":"session",…}, then one {"record":"event",…} per event. JSONL is an
 * encoding only: no part of skep reads or writes such a file on its own.
 */
#define EXCHANGE_LINE_MAX (96u << 20)

/* Calls `line` with each line, without the newline; -1 from it ends the export.
 * Nothing is open in the database while it runs. */
typedef int exchange_line(const char *text, size_t n, void *ctx, struct err *e);

int exchange_export(struct agent_file *f, const char *key,
		    enum history_view view, exchange_line *line, void *ctx,
		    struct err *e);

/* Gives the next line in *text, valid until the next call: 1, 0 at the end. */
typedef int exchange_source(const char **text, size_t *n, void *ctx,
			    struct err *e);

struct import_result {
	char key[513];
	char sid[ID_SIZE];
	int64_t events; /* in the lines */
	int64_t added;  /* of them, now */
};

/*
 * Makes one session of the lines, in one transaction: all or nothing; an error
 * names the line. `key` NULL takes the one in the file. A key that is in use is
 * ERR_CONFLICT. The session keeps its id if that is free here.
 */
int exchange_import(struct agent_file *f, const char *key,
		    exchange_source *next, void *ctx, struct import_result *out,
		    struct err *e);

/*
 * The same, and a session that is there already goes on, if the lines begin with
 * what it holds: id and body of each event are compared, and those after its
 * last are added. A session that holds more than the lines stays as it is.
 * ERR_CONFLICT: an event is another one, or the session is no import of this
 * source (the line's "source").
 */
int exchange_continue(struct agent_file *f, const char *key,
		      exchange_source *next, void *ctx,
		      struct import_result *out, struct err *e);

#endif
