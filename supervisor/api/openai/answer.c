#include "supervisor/api/openai/answer.h"

#include <stdlib.h>
#include <string.h>

#include "schema/agent/agent_file.h"
#include "supervisor/core/agent_work.h"
#include "supervisor/core/supervisor.h"

#define ANSWER_MAX ((size_t)96 << 20)

struct openai_wait {
	struct openai_wait *next, **link; /* NULL: not waiting */
	struct api *api;
	struct api_request *request;
	struct openai_writer *writer;
	struct supervisor_watch *host_watch, *run_watch;
	bool check_pending, must_wait;
	bool has_failed;    /* the next check frees it */
	struct arena arena; /* of the row, and of path */
	struct run_row row;
	struct agent_work work;
	const char *path; /* of the agent file; NULL: there is none */
	struct err failed;
	int rc;
};

/* It does not wait any longer. */
static void leave_list(struct openai_wait *o)
{
	if (o->link) {
		*o->link = o->next;
		if (o->next)
			o->next->link = o->link;
	}
	o->link = NULL;
	supervisor_unwatch(o->host_watch);
	supervisor_unwatch(o->run_watch);
	o->host_watch = o->run_watch = NULL;
}

static void wait_free(struct openai_wait *o)
{
	leave_list(o);
	openai_writer_free(o->writer);
	arena_fini(&o->arena);
	free(o);
}

static void fail_wait(struct openai_wait *o, const struct err *e)
{
	request_fail(o->request, e);
	leave_list(o);
	o->has_failed = true;
	if (!o->check_pending)
		wait_free(o);
}

/* --- reading the answer ------------------------------------------------ */

static int write_item_text(void *arg, const struct tail *tail,
			   const struct tail_item *item)
{
	(void)tail;
	openai_writer_item(arg, item);
	return 0;
}

static int read_run_text(struct openai_wait *o, struct err *e)
{
	struct tail_options want = {o->row.session, o->row.id, NULL};
	struct agent_file f;
	struct tail *tail;
	int rc;

	if (agent_file_open(&f, o->path, o->row.agent, SQL_READONLY, e))
		return -1;
	rc = tail_open(&tail, &want, e);
	if (rc == 0) {
		do
			rc = tail_read(tail, &f, write_item_text, o->writer, e);
		while (rc > 0);
		tail_close(tail);
	}
	agent_file_close(&f);
	if (rc == 0)
		rc = buf_ok(&o->writer->text, "the answer", e);
	return rc;
}

static void read_in_thread(struct agent_work *w)
{
	struct openai_wait *o = w->data;

	o->rc = o->path ? read_run_text(o, &o->failed) : 0;
}

static void reply(struct agent_work *w)
{
	struct openai_wait *o = w->data;
	struct buf out = BUF_MAX(ANSWER_MAX);

	if (o->rc == 0) {
		o->request->status = openai_writer_complete(o->writer, &o->row,
							    &out);
		o->rc = buf_ok(&out, "the answer", &o->failed);
	}
	request_answer(o->request, o->rc, &out, &o->failed);
	buf_fini(&out);
	wait_free(o);
}

static void start_reading(struct openai_wait *o)
{
	struct sql *db = supervisor_db(o->api->sup);
	struct agent_database_get_in key = {o->row.agent};
	struct agent_database_row file;
	int found = sql_get(db, Q_AGENT_DATABASE_GET, &key, &file, &o->arena,
			    &o->failed);

	if (found < 0) {
		fail_wait(o, &o->failed);
		return;
	}
	o->path = found > 0 && o->row.attempt > 0 ? file.path : NULL;
	o->work = (struct agent_work){.agent = o->row.id,
				      .data = o,
				      .in_thread = read_in_thread,
				      .done = reply};
	agent_work_submit(o->api->sup->agent_threads, &o->work);
}

/* --- waiting -------------------------------------------------------------- */

static void on_change(void *arg);

static void check_run(void *arg, const struct err *failed)
{
	struct openai_wait *o = arg;
	struct supervisor *s = o->api->sup;
	struct err e;
	int found;

	o->check_pending = false;
	if (o->has_failed) {
		wait_free(o);
		return;
	}
	if (failed && o->must_wait)
		return; /* the next commit or the timer checks again */
	if (failed) {
		fail_wait(o, failed);
		return;
	}
	arena_reset(&o->arena);
	found = sql_get(supervisor_db(s), Q_RUN_GET,
			&(struct run_get_in){o->writer->run}, &o->row,
			&o->arena, &e);
	if (found == 0)
		err_set(&e, ERR_NOTFOUND, "the run was deleted");
	if (found <= 0) {
		fail_wait(o, &e);
	} else if (!o->must_wait || run_row_is_over(&o->row)) {
		leave_list(o);
		start_reading(o);
	} else if (!o->run_watch) {
		o->run_watch = supervisor_watch(s, o->row.id, on_change, o);
	}
}

static void schedule_check(struct openai_wait *o)
{
	if (o->check_pending)
		return;
	o->check_pending = true;
	supervisor_after_commit(o->api->sup, check_run, o);
}

static void on_change(void *arg)
{
	schedule_check(arg);
}

static struct openai_wait *wait_new(struct api_request *q,
				    struct openai_writer *w)
{
	struct openai_wait *o = calloc(1, sizeof *o);

	if (!o)
		abort();
	o->api = q->api;
	o->request = q;
	o->writer = w;
	return o;
}

void openai_answer_wait(struct api_request *q, struct openai_writer *w)
{
	struct openai_wait *o = wait_new(q, w);
	struct api *a = q->api;

	o->must_wait = true;
	o->next = a->openai_waits;
	o->link = &a->openai_waits;
	if (o->next)
		o->next->link = &o->next;
	a->openai_waits = o;
	o->host_watch = supervisor_watch(a->sup, NULL, on_change, o);
	schedule_check(o);
}

void openai_answer_now(struct api_request *q, struct openai_writer *w)
{
	schedule_check(wait_new(q, w));
}

void openai_answer_tick(struct api *a)
{
	for (struct openai_wait *o = a->openai_waits; o; o = o->next)
		schedule_check(o);
}

void openai_answer_stop(struct api *a)
{
	struct err e;

	err_set(&e, ERR_UNAVAILABLE,
		"the supervisor stops; the run continues, and GET "
		"/v1/runs/ID shows its result");
	while (a->openai_waits)
		fail_wait(a->openai_waits, &e);
}
