#ifndef LIB_JSON_SSE_H
#define LIB_JSON_SSE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stddef.h>

/*
 * Server-sent events, in both directions: the server writes them, the CLI's
 * client and the chat driver read them. The parser follows the WHATWG text: any
 * mix of CR, LF and CRLF, a byte order mark, comments, several data lines;
 * bytes may arrive in any pieces.
 */
struct sse_event {
	const char *id;    /* NULL: it has none */
	const char *event; /* NULL: "message" */
	const char *data;  /* NUL-terminated when it comes from the parser */
	size_t n;
};

/* Appends one event. id and event are ours and must contain no line break
 * (asserted). Line breaks in the data become several data lines. */
void sse_format(struct buf *b, const struct sse_event *ev);
void sse_format_comment(struct buf *b, const char *text);

struct sse_parser {
	struct buf line;
	struct buf data;
	struct buf event;
	struct buf id; /* of the last event that had one; for Last-Event-ID */
	bool has_data;
	bool saw_cr;
	bool started;
	int retry_ms; /* requested by the server, or -1 */
};

/* max is the ceiling of one line and of one event's data. */
void sse_parser_init(struct sse_parser *p, size_t max);
void sse_parser_fini(struct sse_parser *p);

/* Discards an incomplete event and keeps the id: for a new connection. */
void sse_parser_restart(struct sse_parser *p);

/* Calls on_event for each complete event. It may return nonzero to stop, which
 * is then the result. The event is borrowed for the call; its id is the
 * stream's last id. -1 with ERR_TOOBIG. */
int sse_parse(struct sse_parser *p, const char *bytes, size_t n,
	      int (*on_event)(void *arg, const struct sse_event *ev), void *arg,
	      struct err *e);

#endif
