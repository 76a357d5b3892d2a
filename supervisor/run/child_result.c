#include "supervisor/run/worker_request.h"

#include "lib/json/json.h"
#include "schema/agent/agent_file.h"
#include "schema/agent/transcript/answer.h"
#include "supervisor/core/agent_work.h"

#include <stdlib.h>
#include <string.h>

/* The results of child runs: their rows, and what they answered. The answers are
 * in agent files, which a thread reads. */
#define ANSWER_MAX (64u << 10) /* bytes of one answer */
#define BODY_MAX   (16u << 20)
#define LIST_MAX   1000

struct result_job {
	struct agent_work work;
	struct worker_request request;
	struct arena arena; /* of the rows and texts */
	int n;
	bool complete;
	struct child_result {
		struct run_row row;
		const char *path; /* of the agent file, or NULL */
		const char *answer, *error;
	} * list;
};

static int read_answer(struct result_job *j, struct child_result *r,
		       struct err *e)
{
	struct buf text = BUF_MAX(ANSWER_MAX);
	struct agent_file f;
	int rc;

	if (agent_file_open(&f, r->path, r->row.agent, SQL_READONLY, e))
		return -1;
	rc = answer_of_run(&f, r->row.id, r->row.session, &text, e);
	if (rc == 0 && text.n)
		r->answer = arena_text(&j->arena, text.p);
	agent_file_close(&f);
	buf_fini(&text);
	return rc;
}

static void read_answers(struct agent_work *w)
{
	struct result_job *j = w->data;

	for (int i = 0; i < j->n; i++) {
		struct err e;

		if (j->list[i].path && read_answer(j, &j->list[i], &e))
			j->list[i].error = arena_text(&j->arena, e.text);
	}
}

static void add_result(struct buf *b, const struct child_result *r)
{
	const struct run_row *row = &r->row;

	json_begin_object(b);
	json_put_text(b, "run", row->id);
	json_put_text(b, "agent", row->agent);
	json_put_text(b, "session", row->session);
	json_put_text(b, "state", row->state);
	json_put_bool(b, "ended", run_row_is_over(row));
	json_put_text(b, "reason", row->reason);
	json_put_text(b, "detail", row->detail);
	json_put_opt(b, "exit_code", row->exit_code);
	json_put_text(b, "workspace", row->works_in);
	json_put_int(b, "tokens", row->input_tokens + row->output_tokens);
	json_put_int(b, "cost_micros", row->cost_micros);
	json_put_text(b, "answer", r->answer);
	json_put_text(b, "answer_error", r->error);
	json_end_object(b);
}

static void send_results(struct agent_work *w)
{
	struct result_job *j = w->data;
	struct buf b = BUF_MAX(BODY_MAX);
	struct err e;

	json_begin_object(&b);
	json_put_array(&b, "runs");
	for (int i = 0; i < j->n; i++)
		add_result(&b, &j->list[i]);
	json_end_array(&b);
	json_put_bool(&b, "complete", j->complete);
	json_end_object(&b);
	if (!j->request.sup->runs->ipc)
		; /* skepd ends, and the worker asks the next one */
	else if (buf_ok(&b, "the results of the child runs", &e))
		worker_request_fail(&j->request, &e);
	else
		worker_request_answer(&j->request, b.p);
	buf_fini(&b);
	arena_fini(&j->arena);
	free(j);
}

static const char *agent_file_path(struct supervisor *s,
				   const struct run_row *row, struct arena *a)
{
	struct agent_database_get_in key = {row->agent};
	struct agent_database_row file;
	struct err ignored; /* then there is no answer */

	if (!run_row_is_over(row) || row->attempt == 0 ||
	    sql_get(s->db, Q_AGENT_DATABASE_GET, &key, &file, a, &ignored) != 1)
		return NULL;
	return file.path;
}

void child_results(const struct worker_request *q, const struct run_row *rows,
		   int n, bool complete, struct arena *a)
{
	struct result_job *j = calloc(1, sizeof *j);

	if (!j)
		abort();
	j->request = *q;
	j->arena = *a;
	*a = (struct arena){0};
	j->n = n;
	j->complete = complete;
	j->list = arena_alloc(&j->arena, (size_t)(n + 1) * sizeof *j->list);
	for (int i = 0; i < n; i++)
		j->list[i] = (struct child_result){
			.row = rows[i],
			.path = agent_file_path(q->sup, &rows[i], &j->arena)};
	j->work = (struct agent_work){.agent = j->request.run,
				      .data = j,
				      .in_thread = read_answers,
				      .done = send_results};
	agent_work_submit(q->sup->agent_threads, &j->work);
}

static void send_list(void *arg, const struct err *failed)
{
	const struct worker_request *q = arg;
	struct run_children_in key = {q->run, LIST_MAX};
	struct run_children_row *ids;
	struct arena a = {0};
	struct run_row *rows;
	struct err e;
	int n, rc;

	if (failed) {
		worker_request_fail(q, failed);
		return;
	}
	n = sql_collect(q->sup->db, Q_RUN_CHILDREN, &key, LIST_MAX, &ids, &a,
			&e);
	rc = n < 0 ? -1 : 0;
	rows = arena_alloc(&a, (size_t)(n < 0 ? 1 : n + 1) * sizeof *rows);
	for (int i = 0; i < n && rc == 0; i++)
		rc = worker_request_child(q, ids[i].id, &rows[i], &a, &e);
	if (rc == 0)
		child_results(q, rows, n, true, &a);
	else
		worker_request_fail(q, &e);
	arena_fini(&a);
}

void child_list(const struct worker_request *q)
{
	txn_on_commit(&q->sup->txn, send_list, worker_request_keep(q));
}
