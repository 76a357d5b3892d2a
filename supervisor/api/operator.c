/* What operators' commands ask for: see supervisor/core/operator.c. */
#include "supervisor/core/operator.h"
#include "supervisor/api/body.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/channel/retention.h"

void route_backup_note(void *app, const struct http_request *r,
		       struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct backup_run_row row = {.ended_at = OPT_NONE};
	struct err e = {0};
	int rc = api_body(r, &backup_run_row_shape, &row, &q->arena, &e);

	if (!rc)
		rc = supervisor_backup_note(q->api->sup, &row, q->by,
					    request_done(q), &e);
	request_command(q, rc, &e);
}

void route_migration_run(void *app, const struct http_request *r,
			 struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct migration_run_row row = {.ended_at = OPT_NONE};
	struct err e = {0};
	int rc = api_body(r, &migration_run_row_shape, &row, &q->arena, &e);

	if (!rc)
		rc = supervisor_migration_run(q->api->sup, &row, q->by,
					      request_done(q), &e);
	request_command(q, rc, &e);
}

void route_migration_source(void *app, const struct http_request *r,
			    struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct migration_source_row row = {0};
	struct err e = {0};
	int rc = api_body(r, &migration_source_row_shape, &row, &q->arena, &e);

	if (!rc)
		rc = supervisor_migration_source(q->api->sup, &row, q->by,
						 request_done(q), &e);
	request_command(q, rc, &e);
}

void route_migration_removed(void *app, const struct http_request *r,
			     struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct migration_source_removed_in body = {0};
	struct err e = {0};
	int rc = api_body(r, &migration_source_removed_in_shape, &body,
			  &q->arena, &e);

	if (!rc)
		rc = supervisor_migration_removed(q->api->sup, &body, q->by,
						  request_done(q), &e);
	request_command(q, rc, &e);
}

void route_audit_add(void *app, const struct http_request *r,
		     struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct api_audit body = {0};
	struct err e = {0};
	int rc = api_body(r, &api_audit_shape, &body, &q->arena, &e);

	if (!rc)
		rc = supervisor_audit(q->api->sup, body.act, body.subject,
				      body.detail, q->by, request_done(q), &e);
	request_command(q, rc, &e);
}

void route_runs_prune(void *app, const struct http_request *r,
		      struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct prune_runs_in body = {0};
	struct err e = {0};
	int rc = api_body(r, &prune_runs_in_shape, &body, &q->arena, &e);

	if (!rc)
		rc = supervisor_prune(q->api->sup, &body, q->by,
				      request_done(q), &e);
	request_command(q, rc, &e);
}

void route_messages_prune(void *app, const struct http_request *r,
			  struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct retention_options body = {0};
	struct err e = {0};
	int rc = api_body(r, &retention_options_shape, &body, &q->arena, &e);

	if (!rc)
		rc = supervisor_prune_messages(q->api->sup, &body, q->by,
					       request_done(q), &e);
	request_command(q, rc, &e);
}

void route_vacuum(void *app, const struct http_request *r,
		  struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct api_pages body = {0};
	struct err e = {0};
	int rc = api_body(r, &api_pages_shape, &body, &q->arena, &e);

	if (!rc)
		rc = supervisor_vacuum(q->api->sup, body.pages, q->by,
				       request_done(q), &e);
	request_command(q, rc, &e);
}

/* Close our own readers first: the file must not be open. */
void route_agent_restore(void *app, const struct http_request *r,
			 struct http_reply *reply)
{
	struct api_request *q = request_new(app, r, reply);
	struct api_path body = {0};
	struct err e = {0};
	int rc = api_body(r, &api_path_shape, &body, &q->arena, &e);

	if (!rc) {
		agent_files_close(&q->api->files);
		rc = supervisor_agent_restore(q->api->sup,
					      http_param(r, "name"), body.path,
					      q->by, request_done(q), &e);
	}
	request_command(q, rc, &e);
}
