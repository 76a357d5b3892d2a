/* Routes of maintenance commands (supervisor/core/operator.c), the audit log and
 * the list of sandboxes. */
#include "supervisor/core/operator.h"
#include "lib/base/text.h"
#include "schema/control_queries.h"
#include "supervisor/api/list.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/channel/retention.h"

void route_backup_note(struct api_request *q, const struct backup_run_row *body)
{
	struct err e = {0};

	request_command(q,
			supervisor_backup_note(q->api->sup, body, q->by,
					       request_done(q), &e),
			&e);
}

void route_import_run(struct api_request *q, const struct import_run_row *body)
{
	struct err e = {0};

	request_command(q,
			supervisor_import_run(q->api->sup, body, q->by,
					      request_done(q), &e),
			&e);
}

void route_import_item(struct api_request *q,
		       const struct import_item_row *body)
{
	struct err e = {0};

	request_command(q,
			supervisor_import_item(q->api->sup, body, q->by,
					       request_done(q), &e),
			&e);
}

void route_import_removed(struct api_request *q,
			  const struct import_item_removed_in *body)
{
	struct err e = {0};

	request_command(q,
			supervisor_import_removed(q->api->sup, body, q->by,
						  request_done(q), &e),
			&e);
}

void route_audit_add(struct api_request *q, const struct audit_add_body *body)
{
	struct err e = {0};

	request_command(q,
			supervisor_audit(q->api->sup, body->act, body->subject,
					 body->detail, q->by, request_done(q),
					 &e),
			&e);
}

void route_runs_prune(struct api_request *q, const struct run_prune *body)
{
	struct err e = {0};

	request_command(
		q,
		supervisor_prune(q->api->sup, body, q->by, request_done(q), &e),
		&e);
}

void route_messages_prune(struct api_request *q,
			  const struct retention_options *body)
{
	struct err e = {0};

	request_command(q,
			supervisor_prune_messages(q->api->sup, body, q->by,
						  request_done(q), &e),
			&e);
}

void route_vacuum(struct api_request *q, const struct vacuum_body *body)
{
	struct err e = {0};

	request_command(q,
			supervisor_vacuum(q->api->sup, body->pages, q->by,
					  request_done(q), &e),
			&e);
}

static int read_audit(struct api_request *q, struct buf *out, struct err *e)
{
	struct audit_before_in in = {INT64_MAX, q->limit};

	if (q->from && text_i64("before", q->from, 0, INT64_MAX, &in.before, e))
		return -1;
	return api_page(q, Q_AUDIT_BEFORE, &in, "id", out, e);
}

void route_audit(struct api_request *q)
{
	if (request_limit(q))
		return;
	q->from = request_query(q, "before");
	request_read(q, read_audit);
}

static int read_backups(struct api_request *q, struct buf *out, struct err *e)
{
	return api_list(q, Q_BACKUP_RUN_LIST,
			&(struct backup_run_list_in){q->limit}, out, e);
}

void route_backups(struct api_request *q)
{
	if (request_limit(q) == 0)
		request_read(q, read_backups);
}

static int read_sandboxes(struct api_request *q, struct buf *out, struct err *e)
{
	return api_list(q, Q_SANDBOX_LIST, &(struct sandbox_list_in){NULL}, out,
			e);
}

void route_sandboxes(struct api_request *q)
{
	request_read(q, read_sandboxes);
}

/* Close our own readers first: the file must not be open. */
void route_agent_restore(struct api_request *q,
			 const struct agent_path_body *body)
{
	struct err e = {0};

	agent_files_close(&q->api->files);
	request_command(q,
			supervisor_agent_restore(
				q->api->sup, http_param(q->http, "name"),
				body->path, q->by, request_done(q), &e),
			&e);
}

void route_agent_import(struct api_request *q,
			const struct agent_path_body *body)
{
	struct err e = {0};

	request_command(q,
			supervisor_agent_import(
				q->api->sup, http_param(q->http, "name"),
				body->path, q->by, request_done(q), &e),
			&e);
}
