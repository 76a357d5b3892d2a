#include "supervisor/run/worker_request.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/control/channel/mailbox.h"

#include <stdlib.h>
#include <string.h>

/* Requests that wait for child runs or for messages. They are only in memory: a
 * worker sends its requests again to the next skepd. */
#define WAIT_RUNS 32 /* of one request */

struct waiting {
	struct waiting *next;
	struct worker_request request;
	uint64_t until_ms; /* uv_now; UINT64_MAX: no limit */
	bool any;          /* one of the runs is enough */
	int n;             /* 0: it waits for a message */
	char ids[WAIT_RUNS][ID_SIZE];
};

/* --- child runs ------------------------------------------------------- */

static int read_child_rows(const struct waiting *w, struct run_row *rows,
			   int *ended, struct arena *a, struct err *e)
{
	*ended = 0;
	for (int i = 0; i < w->n; i++) {
		if (worker_request_child(&w->request, w->ids[i], &rows[i], a,
					 e))
			return -1;
		*ended += run_row_is_over(&rows[i]);
	}
	return 0;
}

/* Answers if the runs have ended or the time is up: 1, or 0, or -1. */
static int answer_runs(const struct waiting *w, bool late, struct err *e)
{
	struct run_row rows[WAIT_RUNS];
	struct arena a = {0};
	int ended, rc = read_child_rows(w, rows, &ended, &a, e);
	bool complete = w->any ? ended > 0 : ended == w->n;

	if (rc == 0 && (complete || late)) {
		child_results(&w->request, rows, w->n, complete, &a);
		rc = 1;
	}
	arena_fini(&a);
	return rc;
}

/* --- messages --------------------------------------------------------- */

static int answer_message(const struct waiting *w, bool late, struct err *e)
{
	const struct worker_request *q = &w->request;
	struct active_run *l = active_run_find(&q->sup->runs->active, q->run);
	struct buf b = BUF_MAX(MESSAGE_MAX * 7);
	struct message_row *row = NULL;
	struct arena a = {0};
	int n = l ? message_receive(q->sup->db, l->agent, l->session, &row, &a,
				    e)
		  : 0;

	if (n > 0 || (n == 0 && late)) {
		json_begin_object(&b);
		json_key(&b, "message");
		if (n > 0)
			json_add_shape(&b, &message_row_shape, row);
		else
			json_add_null(&b);
		json_end_object(&b);
		worker_request_answer(q, b.p);
		n = 1;
	}
	buf_fini(&b);
	arena_fini(&a);
	return n;
}

/* --- the list --------------------------------------------------------- */

static int answer_waiting(const struct waiting *w, bool late, struct err *e)
{
	return w->n > 0 ? answer_runs(w, late, e) : answer_message(w, late, e);
}

/* True if it need not wait any longer. The worker of a run that has ended does
 * not wait for an answer. */
static bool is_done(const struct waiting *w)
{
	struct supervisor *s = w->request.sup;
	bool late = uv_now(&s->loop) >= w->until_ms;
	struct err e;
	int rc;

	if (!active_run_find(&s->runs->active, w->request.run))
		return true;
	rc = answer_waiting(w, late, &e);
	if (rc < 0)
		worker_request_fail(&w->request, &e);
	return rc != 0;
}

void waiting_check(struct supervisor *s)
{
	struct waiting **at = &s->runs->waiting;

	while (*at) {
		struct waiting *w = *at;

		if (!is_done(w)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
	}
}

static void check_now(void *arg, const struct err *failed)
{
	if (!failed)
		waiting_check(arg);
}

void waiting_check_later(struct supervisor *s)
{
	if (s->runs->waiting)
		txn_on_commit(&s->txn, check_now, s);
}

void waiting_free(struct supervisor *s)
{
	while (s->runs->waiting) {
		struct waiting *next = s->runs->waiting->next;

		free(s->runs->waiting);
		s->runs->waiting = next;
	}
}

/* The request that the worker sent before it reconnected. */
static void forget_repeated(const struct worker_request *q)
{
	struct waiting **at = &q->sup->runs->waiting;

	while (*at) {
		struct waiting *w = *at;

		if (w->request.id != q->id ||
		    strcmp(w->request.run, q->run) != 0) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
	}
}

/* It is answered after the commit at the earliest, from committed rows. */
static void wait_on(struct waiting *w)
{
	struct supervisor *s = w->request.sup;

	forget_repeated(&w->request);
	w->next = s->runs->waiting;
	s->runs->waiting = w;
	waiting_check_later(s);
}

/* --- requests --------------------------------------------------------- */

static struct waiting *new_waiting(const struct worker_request *q,
				   const cJSON *args)
{
	const cJSON *ms = json_member(args, "timeout_ms");
	struct waiting *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	w->request = *q;
	w->until_ms = UINT64_MAX;
	if (cJSON_IsNumber(ms) && ms->valuedouble >= 0 &&
	    ms->valuedouble < 1e12)
		w->until_ms = uv_now(&q->sup->loop) + (uint64_t)ms->valuedouble;
	return w;
}

static int add_ids(struct waiting *w, const cJSON *list, struct err *e)
{
	const cJSON *id;

	cJSON_ArrayForEach(id, list)
	{
		if (w->n == WAIT_RUNS)
			return err_set(e, ERR_TOOBIG,
				       "one request waits for at most %d runs",
				       WAIT_RUNS);
		if (!cJSON_IsString(id) || strlen(id->valuestring) >= ID_SIZE)
			return err_set(e, ERR_INVALID,
				       "runs must be a list of run ids");
		text_fit(w->ids[w->n++], ID_SIZE, id->valuestring);
	}
	return w->n ? 0 : err_set(e, ERR_INVALID, "name the runs to wait for");
}

int child_wait(const struct worker_request *q, const cJSON *args, struct err *e)
{
	struct waiting *w = new_waiting(q, args);

	w->any = json_bool(args, "any", false);
	if (add_ids(w, json_member(args, "runs"), e)) {
		free(w);
		return -1;
	}
	wait_on(w);
	return 0;
}

int run_receive(struct active_run *l, const struct worker_request *q,
		const cJSON *args, struct err *e)
{
	const char *ack = json_text(args, "ack", NULL);

	if (ack && (txn_begin(&q->sup->txn, e) ||
		    message_ack(q->sup->db, l->agent, l->session, ack, e)))
		return -1;
	wait_on(new_waiting(q, args));
	return 0;
}
