#ifndef SUPERVISOR_CHANNEL_PLUGIN_PLUGIN_H
#define SUPERVISOR_CHANNEL_PLUGIN_PLUGIN_H

#include "lib/json/rpc_line.h"
#include "supervisor/channel/delivery.h"
#include "supervisor/channel/plugin/processes.h"
#include "supervisor/core/restart.h"

/*
 * A plugin: a channel whose kind is an external program. It is started with
 * pipes on stdin, stdout and stderr, and speaks JSON-RPC 2.0, one message per
 * line (docs/CHANNELS.md). It cannot harm other channels: it may die (it is
 * restarted with growing delays), hang (it is replaced), send too much (its
 * pipes fill up), send invalid lines, or fork (all its processes are ended with
 * it). There is never more than one: before a start, skepd verifies that all
 * processes of the previous one have exited. Between skepd and the plugin is a
 * shim (ipc/plugin_shim.h), which the spawner forks like a worker. The pipes
 * lead to the plugin itself.
 *
 *   WAITING ──time──▶ STARTED ──register──▶ CONFIGURING ──answer──▶ READY
 *      ▲                 │ any failure: SIGTERM, later SIGKILL        │
 *      └──all gone── ENDING ◀────────────────────────────────────────┘
 */
enum plugin_state {
	PLUGIN_WAITING,     /* for the time of its next start */
	PLUGIN_ENDING,      /* the previous processes are being ended */
	PLUGIN_STARTED,     /* it must start, and then register */
	PLUGIN_CONFIGURING, /* its configuration was sent */
	PLUGIN_READY
};

struct plugin {
	struct channel *channel;
	enum plugin_state state;
	int64_t serial; /* number of starts: answers to a former one are
			 * ignored */
	pid_t pid;      /* 0: none */
	struct plugin_processes processes;
	int64_t at_ms; /* uv_now of the next start, kill or report */
	struct restart restart;
	bool resolves; /* it implements `query` */

	/* its pipes */
	uv_poll_t *in_poll, *out_poll, *events_poll;
	int in, out; /* its stdin and stdout, our ends; -1 */
	int events;  /* of the shim; -1 */
	struct buf inbox, outbox;
	size_t scanned;       /* of the inbox: no line ends there */
	size_t written;       /* of the outbox */
	int64_t last_line_ms; /* uv_now of its last line */
	int lines;            /* in this tick … */
	size_t bytes;         /* … and their size */
	bool quiet;           /* it sends too much: not read before the next
			       * tick */

	/* requests and answers */
	struct inflight *waiting; /* sent, not answered */
	int64_t next_id;
	int bad_lines, notes; /* in the current period */
	bool pinged;
};

#define PLUGIN_LINE_MAX (32u << 20)
#define PLUGIN_PING_ID  0

/* plugin.c: starts and ends. plugin_fail ends the process, which is started
 * again later. */
void plugin_fail(struct plugin *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void plugin_set_state(struct plugin *p, enum plugin_state state);
void plugin_started(struct plugin *p, pid_t pid);
void plugin_ended(struct plugin *p, int status);
/* The next start waits for a former process that does not exit. */
void plugin_is_stuck(struct plugin *p, pid_t pid, const char *why);
void plugin_hung_up(struct plugin *p);      /* its stdout is closed */
bool plugin_may_note(struct plugin *p);     /* in the log of skepd, at a limited
					 * rate */
int64_t plugin_now(const struct plugin *p); /* uv_now */

/* start.c: requests the shim; the pipes are open. Reports of the shim say
 * whether the plugin runs. */
int plugin_start(struct plugin *p, struct err *e);

/* shim_events.c: handles reports of the shim. */
void plugin_events_open(struct plugin *p, int fd); /* takes it */
void plugin_events_listen(struct plugin *p);
void plugin_events_close(struct plugin *p);

/* pipes.c: lines in both directions, without blocking. */
void plugin_pipe_init(struct plugin *p);
void plugin_pipe_fini(struct plugin *p);
void plugin_pipe_open(struct plugin *p, int in, int out); /* takes both */
void plugin_pipe_listen(struct plugin *p); /* not before the process has
					    * started */
uv_poll_t *plugin_poll_new(struct plugin *p, int fd);
void plugin_poll_close(uv_poll_t **poll, int *fd); /* both, if they are open */
void plugin_pipe_close(struct plugin *p);
void plugin_pipe_tick(struct plugin *p); /* a plugin that sent too much is read
					  * again */
/* Writes as much of the outbox as the pipe accepts. False: it failed, and the
 * plugin is ended. */
bool plugin_flush(struct plugin *p);
bool plugin_has_room(const struct plugin *p); /* the plugin reads its stdin */
/* Does a message of n bytes fit into the outbox? */
bool plugin_can_buffer(const struct plugin *p, size_t n);

/* send.c: requests to the plugin. */
void plugin_configure(struct plugin *p);
void plugin_ping(struct plugin *p);
void plugin_send_stop(struct plugin *p);
void plugin_send(struct channel *c, struct inflight *delivery);
bool plugin_query(struct channel *c, struct inflight *delivery);
/* Answers a request of the plugin. id is its JSON text; NULL: a notification,
 * without an answer. */
void plugin_answer(struct plugin *p, const char *id, const char *result);
void plugin_refuse(struct plugin *p, const char *id, int code, const char *why);
void plugin_notify(struct plugin *p, const char *event, const char *ref,
		   const char *id);

/* rpc.c, requests.c: answers and requests of the plugin. */
void plugin_on_line(struct plugin *p, const char *line, size_t n);
void plugin_request(struct plugin *p, const struct rpc_line *r);

/* shutdown.c: ends the processes, which it takes: SIGTERM after stop_ms,
 * SIGKILL later. A process that does not exit is reported. */
void plugin_shut_down(struct supervisor *s, const char *name,
		      struct plugin_processes *p, int64_t stop_ms);
/* The channel was deleted: its log is deleted when its processes have
 * exited. */
void plugin_delete_log_when_ended(struct supervisor *s, const char *name);
/* Is a former plugin of the channel left? Then the next one has to wait. */
bool plugin_is_shutting_down(const struct channel *c);
/* Ends processes that a former skepd left. Call it before any channel is
 * open. */
void plugin_end_leftovers(struct supervisor *s);
/* Waits for all of them, when skepd ends. */
void plugin_wait_all(struct supervisor *s);

/* Handles a report of the spawner. False: it is not about a plugin. Takes
 * pidfd, which may be -1. */
bool plugin_on_spawn_event(struct supervisor *s, const struct spawn_event *t,
			   int pidfd);
void plugin_on_spawner_lost(struct supervisor *s);

#endif
