#ifndef WORKER_DRIVER_ACP_ACP_H
#define WORKER_DRIVER_ACP_ACP_H

#include "lib/base/hash.h"
#include "lib/json/jsonrpc.h"
#include "worker/driver/acp/config.h"
#include "worker/process/subprocess.h"
#include "worker/workspace/beneath.h"

/*
 * The client side of the Agent Client Protocol, version 1: one agent process
 * with one session, for the prompts of one or several runs. acp_begin sends
 * initialize, and each reply leads to the next call (client.c). Updates of the
 * agent are written to the transcript (update.c). Nothing here waits: the
 * driver feeds and writes, until `over`.
 *
 * The meta of our session stores which session of the agent continues it, so
 * that a later run, in another process, resumes it.
 */
struct acp_prompt { /* queued for its turn */
	struct acp_prompt *next;
	const char *text;
};

/* A tool call: one part, in all its states. It is kept until the run ends,
 * because an agent may send further updates. The texts are the latest ones. */
struct acp_call {
	struct acp_call *next;
	const char *id;
	const char *title, *kind;
	const char *input, *locations, *content; /* JSON, or NULL */
	struct buf printed; /* of its command, from _meta.terminal_output of the
			     * agent: the end of it */
	struct part part;
	bool open;
	bool allowed; /* by a rule or a user, when the agent asked */
};

/* A released terminal: its final state, for the tool call that shows it. */
struct acp_released {
	struct acp_released *next;
	const char *id;
	const char *shown; /* JSON */
};

struct acp {
	struct run *run; /* borrowed */
	struct acp_config config;
	struct subprocess subprocess;
	struct rpc rpc;
	struct run_end *end;
	bool over;           /* *end is set */
	bool can_load;       /* session/load; */
	bool can_resume;     /* session/resume; */
	bool can_mcp_http;   /* MCP servers with a url; */
	bool can_image;      /* pictures in a prompt; */
	bool can_audio;      /* and sound: all from the reply to initialize */
	bool replaying;      /* updates repeat stored events */
	bool prompted;       /* a turn is in progress */
	int64_t done_at;     /* clock_mono_ns; *end is set, and the agent has a
			      * moment for its last updates; 0: not yet */
	int64_t output_at;   /* clock_mono_ns of its last update */
	bool stays;          /* kept for the session's next run */
	bool cancelling;     /* session/cancel was sent */
	int next_option;     /* of config.options */
	const char *session; /* of the agent, or NULL */
	struct acp_prompt *prompts;
	struct acp_call *calls;         /* newest first */
	struct acp_question *questions; /* wait for a user */
	struct acp_answer *answers;     /* not sent to the agent yet */
	struct beneath beneath;         /* the workspace */
	struct acp_terminal *terminals;
	struct acp_released *released; /* newest first */
	int terminal_last;             /* number */
	int events;                    /* epoll: terminals and the MCP server */
	struct acp_mcp *mcp;           /* NULL: not offered */
	bool consented;         /* a user has allowed the current action */
	char message[HASH_HEX]; /* of the id of the growing message */
	double cost;            /* of the session, as reported by the agent */
	struct buf login;       /* login methods, for users */
	const char *key_login;  /* its method for an API key, or NULL */
};

/* driver.c: the complete exchange, with the run's prompt as the first one.
 * Output of the agent is fed to x->rpc; its input is in x->subprocess.input. */
void acp_init(struct acp *x, struct run *r, struct run_end *end);
void acp_fini(struct acp *x);

/* idle.c: the agent keeps running after its run, if allowed, and receives the
 * prompt of the session's next run. */
bool acp_may_idle(const struct acp *x);
int acp_idle(struct acp *x, struct err *e);
int acp_begin_next_run(struct acp *x, struct run_end *end, struct err *e);

/* client.c */
int acp_begin(struct acp *x, struct err *e);
int acp_resume(struct acp *x, struct err *e); /* of an idle agent */
void acp_add_prompt(struct acp *x, const char *text);

/* After the last turn: begins another one for a queued message, or ends the run
 * when the agent has sent nothing for a while; *ms is lowered to the remaining
 * time. */
int acp_continue(struct acp *x, int64_t *ms, struct err *e);
void acp_cancel(struct acp *x); /* asks the agent to cancel, once */

/* mcp_servers.c: the MCP servers of a session, as an array. */
void acp_add_servers(struct acp *x, struct buf *out);

/* prompt.c: the text, and the attachments that it names and the agent accepts,
 * as an array of content blocks. */
void acp_add_blocks(struct acp *x, const char *text, struct buf *out);

/* update.c: one "update" of session/update; it is stored, raw or converted.
 * acp_close_calls sets the state of open calls at the end of a turn. */
int acp_update(struct acp *x, const cJSON *update, struct err *e);
int acp_usage(struct acp *x, const cJSON *reply, struct err *e);
int acp_close_calls(struct acp *x, const char *state, struct err *e);

/* Stores an update of a call and returns the call; sets its state. */
int acp_update_call(struct acp *x, const cJSON *u, struct acp_call **call,
		    struct err *e);
int acp_set_call(struct acp *x, struct acp_call *c, const char *state,
		 struct err *e);

/* permission.c: session/request_permission is answered by a rule, or becomes a
 * durable question whose answer is sent to the agent once. */
int acp_permissions_begin(struct acp *x, struct err *e);
int acp_on_permission(struct rpc *r, const struct rpc_request *request,
		      struct err *e);
void acp_on_answer(struct acp *x, const struct msg_answer *m);
int acp_send_answers(struct acp *x, struct err *e);
void acp_drop_questions(struct acp *x); /* the request no longer waits */

/* A request of the agent that the worker executes itself. True: continue.
 * False: it was rejected, or a user is asked; `then` is called if the user
 * allows it. */
bool acp_permit(struct acp *x, const struct rpc_request *request,
		const struct permission_subject *s,
		int (*then)(struct rpc *, const struct rpc_request *,
			    struct err *));

/* The same for a tool of the MCP server; see worker/driver/acp/mcp_permission.h. */
int acp_permit_tool(struct acp *x, int64_t peer, const cJSON *question,
		    struct err *e);

/* subject.c: the subject of a call, for the rules. */
void acp_subject(struct acp *x, const struct acp_call *c,
		 struct permission_subject *s);

/* Wakes the driver when there is input. */
int acp_watch(struct acp *x, int fd);

/* What the rules decide about a request of the agent. Without rules everything
 * is allowed. A request that a rule would ask about is allowed if it belongs to
 * a call that was allowed. */
enum permit acp_evaluate(struct acp *x, const struct permission_subject *s,
			 const char **rule);
void acp_add_path(struct acp *x, struct permission_subject *s,
		  const char *path);

/* files.c: fs/read_text_file and fs/write_text_file, in the workspace. */
int acp_files_begin(struct acp *x, struct err *e);
int acp_on_read(struct rpc *r, const struct rpc_request *request,
		struct err *e);
int acp_on_write(struct rpc *r, const struct rpc_request *request,
		 struct err *e);

/* terminal.c: terminal/…: commands in the sandbox of the agent. Their last
 * output and exit status are stored in the transcript. */
int acp_on_terminal_create(struct rpc *r, const struct rpc_request *request,
			   struct err *e);
int acp_on_terminal_output(struct rpc *r, const struct rpc_request *request,
			   struct err *e);
int acp_on_terminal_wait(struct rpc *r, const struct rpc_request *request,
			 struct err *e);
int acp_on_terminal_kill(struct rpc *r, const struct rpc_request *request,
			 struct err *e);
int acp_on_terminal_release(struct rpc *r, const struct rpc_request *request,
			    struct err *e);
void acp_terminals_poll(
	struct acp *x); /* reads their output; which have exited? */
/* Adds {"terminalId", "output", "exitStatus"}; false: there is no such
 * terminal. */
bool acp_terminal_shown(struct acp *x, const char *id, struct buf *out);
int acp_terminals_end(struct acp *x, struct err *e); /* releases all */

/* session.c: the agent's session that continues ours (NULL: there is none, or
 * ours was forked or rewound since); and storing it. */
int acp_session_find(struct acp *x, const char **id, struct err *e);
int acp_session_save(struct acp *x, struct err *e);

#endif
