#ifndef SUPERVISOR_RUN_WORKER_REQUEST_H
#define SUPERVISOR_RUN_WORKER_REQUEST_H

#include "supervisor/run/internal.h"

/*
 * Requests of a run about its child runs and its messages. The worker passes
 * them on for the processes of the run. They are allowed only what concerns
 * this run: its own child runs and the messages to its session. A worker that
 * reconnects sends a request again, so each may come any number of times: start
 * and send have a key, and the others do not change anything by a repetition.
 *
 *   start    {"agent", "prompt", …: child_start.c}  {"run", "is_new"}
 *   list     {}                                     {"runs": […]}
 *   wait     {"runs", "any", "timeout_ms"}          {"runs": […], "complete"}
 *   send     {"run", "text"}                        {"message"}
 *   cancel   {"run", "reason"}                      {"run", "note"}
 *   reserve  supervisor/run/budget.h
 *   receive  {"ack", "timeout_ms"}                  {"message": {…} or null}
 */
struct worker_request {
	struct supervisor *sup;
	struct ipc_from to;
	int64_t id;
	char run[ID_SIZE]; /* that sent it */
	char key[129];
};

/* Answers now, after the commit, or when there is a result. */
int worker_request_handle(struct active_run *l, struct ipc_from from,
			  const struct msg_request *m, struct err *e);
void worker_request_refuse(struct supervisor *s, struct ipc_from to, int64_t id,
			   const char *why);

/* Answers a request. body is an object. */
void worker_request_answer(const struct worker_request *q, const char *body);
void worker_request_fail(const struct worker_request *q, const struct err *e);

/* A copy that lives until the effects of the transaction; for the effects. */
struct worker_request *worker_request_keep(const struct worker_request *q);

/* Reads the row of a child run: ERR_NOTFOUND unless it is a child of the
 * sender. */
int worker_request_child(const struct worker_request *q, const char *id,
			 struct run_row *row, struct arena *a, struct err *e);

/* child_start.c. In the transaction; 0: answered after the commit. */
int child_start(struct active_run *l, const struct worker_request *q,
		const cJSON *args, struct err *e);

/* child_result.c: answers with the rows and answers of the runs, which are read
 * in a thread. rows live in *a, which it takes. */
void child_results(const struct worker_request *q, const struct run_row *rows,
		   int n, bool complete, struct arena *a);
void child_list(const struct worker_request *q); /* after the commit */

/* waiting.c. 0: it answers when the runs have ended, when there is a message, or
 * when the time is up. */
int child_wait(const struct worker_request *q, const cJSON *args,
	       struct err *e);
int run_receive(struct active_run *l, const struct worker_request *q,
		const cJSON *args, struct err *e);

/* Requests that wait. They are checked when a run has ended or a message was
 * sent, and every second. */
void waiting_check_later(struct supervisor *s); /* after the commit */
void waiting_check(struct supervisor *s);
void waiting_free(struct supervisor *s);

#endif
