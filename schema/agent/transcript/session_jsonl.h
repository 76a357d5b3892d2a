#ifndef SCHEMA_AGENT_TRANSCRIPT_SESSION_JSONL_H
#define SCHEMA_AGENT_TRANSCRIPT_SESSION_JSONL_H

#include "lib/base/buf.h"
#include "schema/agent/transcript/history.h"

/*
 * Sessions as JSON lines, for export and import. An import restores what was
 * exported: order, ids, parents, keys, parts, usage. The first line is
 * {"record":"session",…}, then one {"record":"event",…} per event. skep never
 * reads or writes such a file on its own.
 */
#define SESSION_LINE_MAX (96u << 20)

/* Calls `line` with each line, without the newline; -1 from it ends the export.
 * No statement is open while it runs. */
typedef int session_line_sink(const char *text, size_t n, void *ctx,
			      struct err *e);

int session_export_lines(struct agent_file *f, const char *key,
			 enum history_view view, session_line_sink *line,
			 void *ctx, struct err *e);

/* Returns the next line in *text, valid until the next call: 1, or 0 at the
 * end. */
typedef int session_line_source(const char **text, size_t *n, void *ctx,
				struct err *e);

struct session_import_result {
	char key[513];
	char sid[ID_SIZE];
	int64_t events; /* in the lines */
	int64_t added;  /* number that is stored now */
};

/*
 * Creates one session from the lines, in one transaction; an error names the
 * line. `key` NULL uses the one in the file. A key that is in use is
 * ERR_CONFLICT. The session keeps its id if that is not in use here.
 */
int session_import_lines(struct agent_file *f, const char *key,
			 session_line_source *next, void *ctx,
			 struct session_import_result *out, struct err *e);

/*
 * The same, but an existing session is continued if the lines begin with its
 * events: id and body of each event are compared, and later events are added.
 * If the session has more events than the lines, it stays unchanged.
 * ERR_CONFLICT: an event differs, or the session was not imported from this
 * source (the line's "source").
 */
int session_import_continue(struct agent_file *f, const char *key,
			    session_line_source *next, void *ctx,
			    struct session_import_result *out, struct err *e);

#endif
