/* Responses: like chat completions, but a response can be read again, polled
 * and cancelled by its id, and another one can continue its session. */
#include <string.h>

#include "lib/base/text.h"
#include "supervisor/api/openai/answer.h"
#include "supervisor/api/openai/request.h"
#include "supervisor/api/openai/response_id.h"
#include "supervisor/api/openai/run_answer.h"
#include "supervisor/api/routes.h"
#include "supervisor/api/stream/stream.h"
#include "supervisor/core/supervisor.h"

void route_openai_response_create(struct api_request *q, const cJSON *body)
{
	struct openai_request r;
	struct err e = {0};
	int rc = openai_response_read(q, body, &r, &e);

	if (rc == 0)
		rc = openai_run_submit(q, &r, &openai_response_format, &e);
	openai_request_free(&r);
	request_command(q, rc, &e);
}

/* Reads the run of a response, q->id; takes q if it succeeds. */
static int answer_response(struct api_request *q, struct err *e)
{
	struct run_row row;
	struct openai_writer *w;
	int found = sql_get(supervisor_db(q->api->sup), Q_RUN_GET,
			    &(struct run_get_in){q->id}, &row, &q->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no response %s",
			       quoted(q->key).text);
	if (found < 0)
		return -1;
	w = openai_run_writer(&row, &openai_response_format, q->flag, true);
	if (q->flag)
		openai_stream_subscribe(q, w);
	else
		openai_answer_now(q, w);
	return 0;
}

static void read_response(void *arg, const struct err *failed)
{
	struct api_request *q = arg;
	struct err e;

	if (failed)
		request_fail(q, failed);
	else if (answer_response(q, &e))
		request_fail(q, &e);
}

/* Sets q->key to the response and q->id to its run; -1 has been answered. */
static int find_response(struct api_request *q)
{
	char *run = arena_alloc(&q->arena, ID_SIZE);
	struct err e = {0};

	q->key = request_param(q, "id");
	if (openai_response_run(q->key, run, &e)) {
		request_fail(q, &e);
		return -1;
	}
	q->id = run;
	return 0;
}

void route_openai_response_show(struct api_request *q)
{
	q->flag = http_query_flag(q->http, "stream");
	if (find_response(q) == 0)
		supervisor_after_commit(q->api->sup, read_response, q);
}

static void on_cancelled(void *arg, const struct command_result *r)
{
	struct api_request *q = arg;
	struct err e;

	if (r->failed)
		request_fail(q, r->failed);
	else if (answer_response(q, &e))
		request_fail(q, &e);
}

void route_openai_response_cancel(struct api_request *q)
{
	struct err e = {0};

	if (find_response(q))
		return;
	request_command(
		q,
		supervisor_cancel_run(q->api->sup, q->id,
				      "cancelled by the client", q->by,
				      (struct completion){on_cancelled, q}, &e),
		&e);
}
