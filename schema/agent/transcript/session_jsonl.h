#ifndef SCHEMA_AGENT_TRANSCRIPT_SESSION_JSONL_H
#define SCHEMA_AGENT_TRANSCRIPT_SESSION_JSONL_H

#include "lib/base/buf.h"
#include "schema/agent/transcript/history.h"

/*
 * Sessions as JSON lines, to take along or to read elsewhere; what was exported
 * comes back the same: order, ids, parents, keys, parts, usage. First a line
 * {"record":"session",…}, then one {"record":"event",…} per event. JSONL is an
 * encoding only: no part of skep reads or writes such a file on its own.
 */
#define SESSION_LINE_MAX (96u << 20)

/* Calls `line` with each line, without the newline; -1 from it ends the export.
 * Nothing is open in the database while it runs. */
typedef int session_line_sink(const char *text, size_t n, void *ctx,
			      struct err *e);

int session_export_lines(struct agent_file *f, const char *key,
			 enum history_view view, session_line_sink *line,
			 void *ctx, struct err *e);

/* Gives the next line in *text, valid until the next call: 1, 0 at the end. */
typedef int session_line_source(const char **text, size_t *n, void *ctx,
				struct err *e);

struct session_import_result {
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
int session_import_lines(struct agent_file *f, const char *key,
			 session_line_source *next, void *ctx,
			 struct session_import_result *out, struct err *e);

/*
 * The same, and a session that is there already goes on, if the lines begin with
 * what it holds: id and body of each event are compared, and those after its
 * last are added. A session that holds more than the lines stays as it is.
 * ERR_CONFLICT: an event is another one, or the session is no import of this
 * source (the line's "source").
 */
int session_import_continue(struct agent_file *f, const char *key,
			    session_line_source *next, void *ctx,
			    struct session_import_result *out, struct err *e);

#endif
