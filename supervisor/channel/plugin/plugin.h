#ifndef SUPERVISOR_CHANNEL_PLUGIN_PLUGIN_H
#define SUPERVISOR_CHANNEL_PLUGIN_PLUGIN_H

#include "lib/json/rpc_line.h"
#include "supervisor/channel/delivery.h"
#include "supervisor/channel/plugin/processes.h"
#include "supervisor/core/restart.h"

/*
 * A plugin: a channel whose kind is a program of somebody else. It is started
 * with pipes on stdin, stdout and stderr, and speaks JSON-RPC 2.0, a line a
 * message (docs/CHANNELS.md). Nothing that it does can hurt others: it may die
 * (it is started again, later and later), hang (it is replaced), flood (its
 * pipes fill up), talk nonsense or fork (its tree is ended with it). There are
 * never two: before a start every process of the one before is verified gone.
 * Between skepd and the plugin is a shim (ipc/plugin_shim.h), which the spawner
 * forks like a worker; the pipes are the plugin's own.
 *
 *   WAITING ──time──▶ STARTED ──register──▶ CONFIGURING ──answer──▶ READY
 *      ▲                 │ any failure: SIGTERM, later SIGKILL        │
 *      └──all gone── ENDING ◀────────────────────────────────────────┘
 */
enum plugin_state {
	PLUGIN_WAITING,     /* for the time of its next start */
	PLUGIN_ENDING,      /* processes of the one before are being ended */
	PLUGIN_STARTED,     /* it must start, and register */
	PLUGIN_CONFIGURING, /* it was told its configuration */
	PLUGIN_READY
};

struct plugin {
	struct channel *channel;
	enum plugin_state state;
	int64_t serial; /* counts starts: answers to a former one are void */
	pid_t pid;      /* 0: none */
	struct plugin_processes processes;
	int64_t at_ms; /* uv_now: of the next start, kill or complaint */
	struct restart restart;
	bool resolves; /* it can say what became of a message */

	/* its pipes */
	uv_poll_t *in_poll, *out_poll, *events_poll;
	int in, out; /* its stdin and stdout, our ends; -1 */
	int events;  /* of the shim; -1 */
	struct buf inbox, outbox;
	size_t scanned;       /* of the inbox: no line ends there */
	size_t written;       /* of the outbox */
	int64_t last_line_ms; /* uv_now of its last line */
	int lines;            /* in this tick … */
	size_t bytes;         /* … and what it wrote */
	bool quiet;           /* it floods: not read before the next tick */

	/* what was said */
	struct inflight *waiting; /* sent, not answered */
	int64_t next_id;
	int bad_lines, notes; /* for a while; then forgiven */
	bool pinged;
};

#define PLUGIN_LINE_MAX (32u << 20)
#define PLUGIN_PING_ID  0

/* plugin.c: its life. Ends it, to be started again after a while. */
void plugin_fail(struct plugin *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void plugin_set_state(struct plugin *p, enum plugin_state state);
void plugin_started(struct plugin *p, pid_t pid);
void plugin_ended(struct plugin *p, int status);
/* It waits for a process of the one before, which does not end. */
void plugin_is_stuck(struct plugin *p, pid_t pid, const char *why);
void plugin_hung_up(struct plugin *p);  /* its stdout is closed */
bool plugin_may_note(struct plugin *p); /* in our log, which has its limits */
int64_t plugin_now(const struct plugin *p); /* uv_now */

/* start.c: requests the shim, with the pipes open. It reports what became of
 * the plugin. */
int plugin_start(struct plugin *p, struct err *e);

/* shim_events.c: what the shim reports. */
void plugin_events_open(struct plugin *p, int fd); /* takes it */
void plugin_events_listen(struct plugin *p);
void plugin_events_close(struct plugin *p);

/* pipes.c: lines both ways; neither is waited for. */
void plugin_pipe_init(struct plugin *p);
void plugin_pipe_fini(struct plugin *p);
void plugin_pipe_open(struct plugin *p, int in, int out); /* takes both */
void plugin_pipe_listen(struct plugin *p); /* not before it has started */
uv_poll_t *plugin_poll_new(struct plugin *p, int fd);
void plugin_poll_close(uv_poll_t **poll, int *fd); /* both, if they are open */
void plugin_pipe_close(struct plugin *p);
void plugin_pipe_tick(struct plugin *p); /* one that floods is read again */
/* Writes what is in the outbox, as far as it is taken. False: it failed, and
 * the plugin with it. */
bool plugin_flush(struct plugin *p);
bool plugin_has_room(const struct plugin *p); /* it reads what it is sent */
/* Does a message of n bytes fit into the outbox? */
bool plugin_can_buffer(const struct plugin *p, size_t n);

/* send.c: what it is told. */
void plugin_configure(struct plugin *p);
void plugin_ping(struct plugin *p);
void plugin_send_stop(struct plugin *p);
void plugin_send(struct channel *c, struct inflight *delivery);
bool plugin_query(struct channel *c, struct inflight *delivery);
/* Of a request of its own; id is the JSON text of it, NULL: it wants none. */
void plugin_answer(struct plugin *p, const char *id, const char *result);
void plugin_refuse(struct plugin *p, const char *id, int code, const char *why);
void plugin_notify(struct plugin *p, const char *event, const char *ref,
		   const char *id);

/* rpc.c, requests.c: what it says. */
void plugin_on_line(struct plugin *p, const char *line, size_t n);
void plugin_request(struct plugin *p, const struct rpc_line *r);

/* shutdown.c: sees the end of the processes, which it takes, in its own time:
 * SIGTERM after stop_ms, SIGKILL later. A process that does not end is reported. */
void plugin_shut_down(struct supervisor *s, const char *name,
		      struct plugin_processes *p, int64_t stop_ms);
/* The channel was removed: its log goes when its processes have. */
void plugin_delete_log_when_ended(struct supervisor *s, const char *name);
/* Is there a former plugin of the channel? Then the next one has to wait. */
bool plugin_is_shutting_down(const struct channel *c);
/* Processes that a former skepd left: before any channel is open. */
void plugin_end_leftovers(struct supervisor *s);
/* Waits for all of them: skepd ends. */
void plugin_wait_all(struct supervisor *s);

/* Reports of the spawner. False: it is not about a plugin. The pidfd, or -1, is
 * taken. */
bool plugin_on_spawn_event(struct supervisor *s, const struct spawn_event *t,
			   int pidfd);
void plugin_on_spawner_lost(struct supervisor *s);

#endif
