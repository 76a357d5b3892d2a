#ifndef SUPERVISOR_API_REQUEST_H
#define SUPERVISOR_API_REQUEST_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/id.h"
#include "lib/http/server.h"
#include "supervisor/api/agent_file_cache.h"
#include "supervisor/api/metrics.h"
#include "supervisor/core/commands.h"

/*
 * One request: its handler reads or changes rows, and the answer is sent after
 * the commit. Only the files of this directory use it.
 */
struct api {
	struct supervisor *sup;
	uv_loop_t *loop;
	struct http_server *server;
	struct agent_files files;
	struct api_counts counts;
	struct event_stream *streams; /* a ring: stream/stream.c */
	struct edit_batch *batches;   /* in progress: write_batch.c */
	struct mailbox_wait
		*mailbox_waits;           /* waiting requests: mailbox_wait.c */
	const char *budget_shown;         /* last budget in the metrics */
	struct openai_wait *openai_waits; /* likewise: openai/answer.c */
	int64_t nstreams, nsubscribers;
	uv_timer_t timer; /* polls streams, since hints may be lost */
	uv_timer_t soon;  /* continues a poll in a later turn */
	const char **hosts, **origins; /* from the configuration */
	char cookie[32];               /* name of the cookie of a login */
	bool stopped;
};

void api_poll_soon(struct api *w); /* continues unfinished streams soon */

#define REQUEST_ANSWER_MAX ((size_t)64 << 20)

struct api_request {
	struct api *api;
	const struct http_request *http; /* only while the handler is called */
	struct http_reply *reply;
	struct sql *db; /* database to read from */
	struct arena arena;
	const char *by;   /* client, for the audit log */
	const char *id;   /* of a run or approval; name of an agent */
	const char *key;  /* of a session */
	const char *from; /* cursor of a list or stream */
	const char *filter[6];
	int64_t limit;
	/* files of a thread; NULL: those of the loop */
	struct agent_files *own;
	/* active runs, collected by the loop for a thread */
	struct run_row *active;
	int nactive;
	bool flag;
	int status; /* of the answer, if all goes well; 0: 200 */
	int (*read)(struct api_request *q, struct buf *out, struct err *e);
};

struct api_request *request_new(struct api *w, const struct http_request *r,
				struct http_reply *reply);
void request_free(struct api_request *q);

/* Copies that live as long as the request; NULL if absent. */
const char *request_param(struct api_request *q, const char *name);
const char *request_query(struct api_request *q, const char *name);

/* Reads the query's limit (1 to 1000, else 100): -1 has been answered. */
int request_limit(struct api_request *q);

/* Reads the query's `before` into q->from, for a list that is ordered by id
 * (schema/control/cursor.h): -1 has been answered. */
int request_before(struct api_request *q, enum id_kind kind);

/* For routes that return a page or a stream: reads limit, flag (the client
 * requests a stream) and from (Last-Event-ID, or ?after=). -1 has been
 * answered. */
int request_reader(struct api_request *q);

/* After the commit of this turn, q->read fills the answer. It may also take the
 * reply and set q->reply to NULL. */
void request_read(struct api_request *q,
		  int (*read)(struct api_request *q, struct buf *out,
			      struct err *e));

/* The same for a read of very many rows: a thread reads them with its own
 * connection (q->db; read_async.c). The read may use only the request and its
 * database. */
void request_read_async(struct api_request *q,
			int (*read)(struct api_request *q, struct buf *out,
				    struct err *e));

/* Answers with out if rc is 0, else with e; frees q. */
void request_answer(struct api_request *q, int rc, struct buf *out,
		    struct err *e);

/* Answers with bytes from outside, such as a file of a workspace: browsers save
 * them and never execute them. */
void api_reply_bytes(struct http_reply *reply, const char *type,
		     struct blob bytes);

/* Answers with the error and frees q. */
void request_fail(struct api_request *q, const struct err *e);

/* The completion of a command: after the commit it answers with q->read if that
 * is set (q->id is then the id that the command returned), else with {"id",
 * "changed", "note"}. */
struct completion request_done(struct api_request *q);

/* For commands: fails the request if rc is not 0. */
void request_command(struct api_request *q, int rc, const struct err *e);

/* A command that is one statement. It is answered after the commit, as by
 * request_done. */
struct request_change {
	unsigned query;
	const void *in;
	const char *id;        /* of the answer */
	const char *note;      /* if a row was changed */
	const char *unchanged; /* note if none was; NULL: ERR_NOTFOUND */
	const char *noun;      /* "run", for that error */
};

void request_exec(struct api_request *q, const struct request_change *c);

/* {"items":[ … ],"next": …}: a comma before each item but the first. */
void list_begin(struct buf *out);
void list_item(struct buf *out, const struct shape *s, const void *row);
void list_end(struct buf *out, const char *next); /* NULL: null */

#endif
