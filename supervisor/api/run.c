/* Runs: lists, submitting, and commands on runs. */
#include <string.h>

#include "lib/base/mark.h"
#include "lib/base/text.h"
#include "schema/control/channel/run_deliveries.h"
#include "supervisor/api/list.h"
#include "supervisor/api/ps.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

enum { BY_AGENT, BY_SESSION, BY_STATE, BY_TAG, BY_INVOCATION };

static void assess_run(struct api_request *q, void *row)
{
	api_assess_run(q->api->sup, row);
}

static int read_runs(struct api_request *q, struct buf *out, struct err *e)
{
	static const struct api_lists list = {LISTS_RUNS, &run_row_shape, "id",
					      assess_run};
	struct run_filter filter = {.agent = q->filter[BY_AGENT],
				    .session = q->filter[BY_SESSION],
				    .state = q->filter[BY_STATE],
				    .tag = q->filter[BY_TAG],
				    .invocation = q->filter[BY_INVOCATION],
				    .before = q->from,
				    .count = q->limit};

	return api_lists(q, &list, &filter, out, e);
}

void route_runs(struct api_request *q)
{
	static const char *const names[] = {"agent", "session", "state", "tag",
					    "invocation"};

	if (request_limit(q) || request_before(q, ID_RUN))
		return;
	for (int i = 0; i <= BY_INVOCATION; i++)
		q->filter[i] = request_query(q, names[i]);
	request_read(q, read_runs);
}

static int get_run(struct api_request *q, struct run_row *row, struct err *e)
{
	int found = sql_get(supervisor_db(q->api->sup), Q_RUN_GET,
			    &(struct run_get_in){q->id}, row, &q->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no run %s",
			       quoted(q->id).text);
	if (found > 0)
		api_assess_run(q->api->sup, row);
	return found < 0 ? -1 : 0;
}

static int read_run(struct api_request *q, struct buf *out, struct err *e)
{
	struct run_row row;

	if (get_run(q, &row, e))
		return -1;
	json_add_shape(out, &run_row_shape, &row);
	return 0;
}

/* Adds the deliveries of a run from its agent file. A missing file is reported
 * in the row, since it may be the reason why the client asks. */
static void add_deliveries(struct api_request *q, struct run_row *row)
{
	struct sql *db = supervisor_db(q->api->sup);
	struct agent_file *file;
	struct err e = {0};
	int found = agent_files_get(&q->api->files, db, row->agent, &file, &e);

	row->deliveries = "[]";
	if (found > 0)
		found = run_deliveries(db, file, row->id, &row->deliveries,
				       &q->arena, &e);
	else if (found == 0 && row->last_seq > 0)
		found = err_set(&e, ERR_NOTFOUND,
				"the database of agent %s is missing",
				row->agent);
	if (found >= 0)
		return;
	row->deliveries = NULL;
	row->deliveries_error = run_deliveries_note(&e, &q->arena);
}

/* The run with its deliveries. */
static int read_run_shown(struct api_request *q, struct buf *out, struct err *e)
{
	struct run_row row;

	if (get_run(q, &row, e))
		return -1;
	add_deliveries(q, &row);
	json_add_shape(out, &run_row_shape, &row);
	return 0;
}

void route_run_show(struct api_request *q)
{
	q->id = request_param(q, "id");
	request_read(q, read_run_shown);
}

static int read_input(struct api_request *q, struct buf *out, struct err *e)
{
	struct run_input_get_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_RUN_INPUT_GET,
			    &(struct run_input_get_in){q->id}, &row, &q->arena,
			    e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no run %s",
			       quoted(q->id).text);
	if (found > 0)
		json_add_shape(out, &run_input_get_row_shape, &row);
	return found < 0 ? -1 : 0;
}

void route_run_input(struct api_request *q)
{
	q->id = request_param(q, "id");
	request_read(q, read_input);
}

/* All rows of a query whose only parameter is the run. -1 with ERR_NOTFOUND if
 * there is no such run. */
static int read_rows_of_run(struct api_request *q, unsigned query,
			    struct buf *out, struct err *e)
{
	struct sql *db = supervisor_db(q->api->sup);
	struct run_get_in key = {q->id};
	union {
		struct run_transition_row move;
		struct command_row command;
	} row;
	const struct shape *shape = query == Q_COMMAND_LIST
					    ? &command_row_shape
					    : &run_transition_row_shape;
	struct sql_rows it;

	if (read_run(q, out, e))
		return -1;
	buf_clear(out);
	it = sql_rows(db, query, &key);
	list_begin(out);
	while (sql_next(&it, &row))
		list_item(out, shape, &row);
	list_end(out, NULL);
	return sql_end(&it, e);
}

static int read_transitions(struct api_request *q, struct buf *out,
			    struct err *e)
{
	return read_rows_of_run(q, Q_RUN_TRANSITION_LIST, out, e);
}

void route_run_transitions(struct api_request *q)
{
	q->id = request_param(q, "id");
	request_read(q, read_transitions);
}

static int read_commands(struct api_request *q, struct buf *out, struct err *e)
{
	return read_rows_of_run(q, Q_COMMAND_LIST, out, e);
}

void route_run_commands(struct api_request *q)
{
	q->id = request_param(q, "id");
	request_read(q, read_commands);
}

/* A directory of the host is shown to the agent, as the path in a definition. */
static int check_over(struct api_request *q, const struct run_request *body,
		      struct err *e)
{
	if (!body->over ||
	    (http_principal(q->http)->scopes & HTTP_SCOPE_BIT(ADMIN)))
		return 0;
	return err_set(e, ERR_DENIED,
		       "over needs a token with the scope \"%s\"",
		       http_scope_name(HTTP_SCOPE_ADMIN));
}

void route_run_submit(struct api_request *q, const struct run_request *body)
{
	struct run_request request = supervisor_run_defaults(q->api->sup);
	struct err e = {0};
	int rc = check_over(q, body, &e);

	mark(MARK_request);
	request.by = q->by;
	request.idem_key = http_header(q->http, "Idempotency-Key");
	run_request_merge(&request, body);
	q->status = 201;
	q->read = read_run;
	if (rc == 0)
		rc = supervisor_submit_run(q->api->sup, &request,
					   request_done(q), &e);
	request_command(q, rc, &e);
}

void route_run_retry(struct api_request *q)
{
	struct err e = {0};

	q->status = 201;
	q->read = read_run;
	request_command(q,
			supervisor_retry_run(q->api->sup,
					     http_param(q->http, "id"), q->by,
					     request_done(q), &e),
			&e);
}

void route_run_cancel(struct api_request *q, const struct run_cancel_body *body)
{
	struct err e = {0};

	request_command(
		q,
		supervisor_cancel_run(q->api->sup, http_param(q->http, "id"),
				      body->reason, q->by, request_done(q), &e),
		&e);
}

void route_runs_cancel(struct api_request *q,
		       const struct runs_cancel_body *body)
{
	struct cancel_filter filter = {.agent = body->agent,
				       .session = body->session,
				       .tag = body->tag,
				       .all = body->all,
				       .reason = body->reason};
	struct err e = {0};

	request_command(q,
			supervisor_cancel_runs(q->api->sup, &filter, q->by,
					       request_done(q), &e),
			&e);
}

void route_run_pause(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_pause_run(q->api->sup,
					     http_param(q->http, "id"), q->by,
					     request_done(q), &e),
			&e);
}

void route_run_resume(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_resume_run(q->api->sup,
					      http_param(q->http, "id"), q->by,
					      request_done(q), &e),
			&e);
}

void route_run_send(struct api_request *q, const struct run_send_body *body)
{
	struct err e = {0};

	request_command(
		q,
		supervisor_send_to_run(q->api->sup, http_param(q->http, "id"),
				       body->text, q->by, request_done(q), &e),
		&e);
}

void route_run_note(struct api_request *q, const struct run_note_body *body)
{
	struct run_note_in in = {http_param(q->http, "id"), body->text};

	request_exec(q, &(struct request_change){
				.query = Q_RUN_NOTE,
				.in = &in,
				.id = in.id,
				.note = *in.note ? "note set" : "note removed",
				.noun = "run"});
}
