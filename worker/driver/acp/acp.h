#ifndef WORKER_DRIVER_ACP_ACP_H
#define WORKER_DRIVER_ACP_ACP_H

#include "lib/base/hash.h"
#include "lib/json/jsonrpc.h"
#include "worker/driver/acp/config.h"
#include "worker/process/subprocess.h"
#include "worker/workspace/beneath.h"

/*
 * The client's side of the Agent Client Protocol, version 1: one agent process,
 * one session of its own, one or more prompts of a run, or of several runs.
 * acp_begin says initialize, and each reply leads to the next call (client.c);
 * what the agent tells goes to the transcript (update.c). Nothing here waits:
 * the driver feeds and writes, until `over`.
 *
 * Which of the agent's sessions continues ours is kept in our session's meta,
 * so that a later run, in another process, takes it up again.
 */
struct acp_prompt { /* that waits for its turn */
	struct acp_prompt *next;
	const char *text;
};

/* A tool call: one part, in all its states; kept until the run ends, because an
 * agent may speak of it again. The texts are what was said of it last. */
struct acp_call {
	struct acp_call *next;
	const char *id;
	const char *title, *kind;
	const char *input, *locations, *content; /* JSON, or NULL */
	struct buf printed; /* by its command, as the agent told it in
			     * _meta.terminal_output: the end of it */
	struct part part;
	bool open;
	bool allowed; /* by a rule or a person, when the agent asked */
};

/* A terminal that was released: its end, for the tool call that shows it. */
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
	bool over;           /* *end is filled */
	bool can_load;       /* session/load; */
	bool can_resume;     /* session/resume; */
	bool can_mcp_http;   /* MCP servers with a url; */
	bool can_image;      /* pictures in a prompt; */
	bool can_audio;      /* and sound: all as initialize said */
	bool replaying;      /* updates repeat what we have */
	bool prompted;       /* a turn is under way */
	int64_t done_at;     /* clock_mono_ns; *end is filled, and the agent has
			      * a moment for its last words; 0: not so far */
	int64_t heard_at;    /* clock_mono_ns of its last words */
	bool stays;          /* for the session's next run */
	bool cancelling;     /* session/cancel was sent */
	int next_option;     /* of config.options */
	const char *session; /* the agent's, or NULL */
	struct acp_prompt *prompts;
	struct acp_call *calls;         /* newest first */
	struct acp_question *questions; /* that wait for a person */
	struct acp_answer *answers;     /* that the agent has not got yet */
	struct beneath beneath;         /* the workspace */
	struct acp_terminal *terminals;
	struct acp_released *released; /* newest first */
	int terminal_last;             /* number */
	int events;                    /* epoll: terminals and the MCP server */
	struct acp_mcp *mcp;           /* NULL: none is offered */
	bool consented;         /* a person has allowed what is done now */
	char message[HASH_HEX]; /* of the id of the message that grows */
	double cost;            /* of the session, as the agent counts */
	struct buf login;       /* ways to log in, for a person */
	const char *key_login;  /* its method for an API key, or NULL */
};

/* driver.c: all of it, with the run's prompt as the first one. What the
 * agent says goes to x->rpc; what is for it is in x->subprocess.input. */
void acp_init(struct acp *x, struct run *r, struct run_end *end);
void acp_fini(struct acp *x);

/* idle.c: the agent stays where it is when its run is over, if it may, and
 * takes up the prompt of the session's next one. */
bool acp_may_idle(const struct acp *x);
int acp_idle(struct acp *x, struct err *e);
int acp_begin_next_run(struct acp *x, struct run_end *end, struct err *e);

/* client.c */
int acp_begin(struct acp *x, struct err *e);
int acp_resume(struct acp *x, struct err *e); /* of one that has stayed */
void acp_add_prompt(struct acp *x, const char *text);

/* After the last turn: begins another one for a message that came, or ends the
 * run when the agent is silent; *ms is lowered to the time until that. */
int acp_continue(struct acp *x, int64_t *ms, struct err *e);
void acp_cancel(struct acp *x); /* tells the agent, once */

/* mcp_servers.c: the MCP servers of a session, as an array. */
void acp_add_servers(struct acp *x, struct buf *out);

/* prompt.c: the text, and the attachments that it names and the agent takes,
 * as an array of content blocks. */
void acp_add_blocks(struct acp *x, const char *text, struct buf *out);

/* update.c: one "update" of session/update; raw or refined, it is kept.
 * Then the end of the turn: calls that are still open get this state. */
int acp_update(struct acp *x, const cJSON *update, struct err *e);
int acp_usage(struct acp *x, const cJSON *reply, struct err *e);
int acp_close_calls(struct acp *x, const char *state, struct err *e);

/* Takes what is said of a call, and gives it; and sets its state. */
int acp_update_call(struct acp *x, const cJSON *u, struct acp_call **call,
		    struct err *e);
int acp_set_call(struct acp *x, struct acp_call *c, const char *state,
		 struct err *e);

/* permission.c: session/request_permission is answered by a rule, or is a
 * durable question whose answer reaches the agent once. */
int acp_permissions_begin(struct acp *x, struct err *e);
int acp_on_permission(struct rpc *r, const struct rpc_request *ask,
		      struct err *e);
void acp_on_answer(struct acp *x, const struct msg_answer *m);
int acp_send_answers(struct acp *x, struct err *e);
void acp_drop_questions(struct acp *x); /* nobody waits any more */

/* A request of the agent that we carry out ourselves. True: go on. False: it was
 * refused, or a person is asked, and `then` takes it again if that one allows
 * it. */
bool acp_permit(struct acp *x, const struct rpc_request *ask,
		const struct permission_subject *s,
		int (*then)(struct rpc *, const struct rpc_request *,
			    struct err *));

/* The same for a tool of the MCP server; see worker/driver/acp/mcp_permission.h. */
int acp_permit_tool(struct acp *x, int64_t peer, const cJSON *asked,
		    struct err *e);

/* subject.c: what a call is about, for the rules. */
void acp_subject(struct acp *x, const struct acp_call *c,
		 struct permission_subject *s);

/* Wakes the driver when there is something to read. */
int acp_watch(struct acp *x, int fd);

/* What the rules say to what the agent wants of us. Without rules everything is
 * allowed; what would be asked is allowed if it belongs to a call of the agent
 * that was. */
enum permit acp_evaluate(struct acp *x, const struct permission_subject *s,
			 const char **rule);
void acp_add_path(struct acp *x, struct permission_subject *s,
		  const char *path);

/* files.c: fs/read_text_file and fs/write_text_file, in the workspace. */
int acp_files_begin(struct acp *x, struct err *e);
int acp_on_read(struct rpc *r, const struct rpc_request *ask, struct err *e);
int acp_on_write(struct rpc *r, const struct rpc_request *ask, struct err *e);

/* terminal.c: terminal/…, commands that run where the agent runs. Their end
 * and their last output stand in the transcript. */
int acp_on_terminal_create(struct rpc *r, const struct rpc_request *ask,
			   struct err *e);
int acp_on_terminal_output(struct rpc *r, const struct rpc_request *ask,
			   struct err *e);
int acp_on_terminal_wait(struct rpc *r, const struct rpc_request *ask,
			 struct err *e);
int acp_on_terminal_kill(struct rpc *r, const struct rpc_request *ask,
			 struct err *e);
int acp_on_terminal_release(struct rpc *r, const struct rpc_request *ask,
			    struct err *e);
void acp_terminals_poll(
	struct acp *x); /* reads what they said; who has ended? */
/* Adds {"terminalId", "output", "exitStatus"}; false: there is no such one. */
bool acp_terminal_shown(struct acp *x, const char *id, struct buf *out);
int acp_terminals_end(struct acp *x, struct err *e); /* releases all */

/* session.c: the agent's session that continues ours (NULL: there is none,
 * or ours was forked or rewound since); and keeping it. */
int acp_session_find(struct acp *x, const char **id, struct err *e);
int acp_session_save(struct acp *x, struct err *e);

#endif
