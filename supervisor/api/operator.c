/* What operators' commands ask for: see supervisor/core/operator.c. */
#include "supervisor/core/operator.h"
#include "supervisor/api/body.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/channel/retention.h"

void route_backup_note(void *app, const struct http_request *r,
		       struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct backup_run_row row = {.ended_at = OPT_NONE};
	struct err e = {0};
	int rc = web_body(r, &backup_run_row_shape, &row, &q->arena, &e);

	if (!rc)
		rc = supervisor_backup_note(q->web->sup, &row, q->by,
					    ask_done(q), &e);
	ask_verb(q, rc, &e);
}

void route_migration_run(void *app, const struct http_request *r,
			 struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct migration_run_row row = {.ended_at = OPT_NONE};
	struct err e = {0};
	int rc = web_body(r, &migration_run_row_shape, &row, &q->arena, &e);

	if (!rc)
		rc = supervisor_migration_run(q->web->sup, &row, q->by,
					      ask_done(q), &e);
	ask_verb(q, rc, &e);
}

void route_migration_source(void *app, const struct http_request *r,
			    struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct migration_source_row row = {0};
	struct err e = {0};
	int rc = web_body(r, &migration_source_row_shape, &row, &q->arena, &e);

	if (!rc)
		rc = supervisor_migration_source(q->web->sup, &row, q->by,
						 ask_done(q), &e);
	ask_verb(q, rc, &e);
}

void route_migration_removed(void *app, const struct http_request *r,
			     struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct migration_source_removed_in body = {0};
	struct err e = {0};
	int rc = web_body(r, &migration_source_removed_in_shape, &body,
			  &q->arena, &e);

	if (!rc)
		rc = supervisor_migration_removed(q->web->sup, &body, q->by,
						  ask_done(q), &e);
	ask_verb(q, rc, &e);
}

void route_audit_add(void *app, const struct http_request *r,
		     struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct web_audit body = {0};
	struct err e = {0};
	int rc = web_body(r, &web_audit_shape, &body, &q->arena, &e);

	if (!rc)
		rc = supervisor_audit(q->web->sup, body.act, body.subject,
				      body.detail, q->by, ask_done(q), &e);
	ask_verb(q, rc, &e);
}

void route_prune(void *app, const struct http_request *r,
		 struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct prune_runs_in body = {0};
	struct err e = {0};
	int rc = web_body(r, &prune_runs_in_shape, &body, &q->arena, &e);

	if (!rc)
		rc = supervisor_prune(q->web->sup, &body, q->by, ask_done(q),
				      &e);
	ask_verb(q, rc, &e);
}

void route_retire(void *app, const struct http_request *r,
		  struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct retire_ask body = {0};
	struct err e = {0};
	int rc = web_body(r, &retire_ask_shape, &body, &q->arena, &e);

	if (!rc)
		rc = supervisor_prune_messages(q->web->sup, &body, q->by,
					       ask_done(q), &e);
	ask_verb(q, rc, &e);
}

void route_vacuum(void *app, const struct http_request *r,
		  struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct web_pages body = {0};
	struct err e = {0};
	int rc = web_body(r, &web_pages_shape, &body, &q->arena, &e);

	if (!rc)
		rc = supervisor_vacuum(q->web->sup, body.pages, q->by,
				       ask_done(q), &e);
	ask_verb(q, rc, &e);
}

/* Our own readers of the file go first: it must be nobody's. */
void route_agent_restore(void *app, const struct http_request *r,
			 struct http_reply *reply)
{
	struct ask *q = ask_new(app, r, reply);
	struct web_path body = {0};
	struct err e = {0};
	int rc = web_body(r, &web_path_shape, &body, &q->arena, &e);

	if (!rc) {
		agent_files_close(&q->web->files);
		rc = supervisor_agent_restore(q->web->sup,
					      http_param(r, "name"), body.path,
					      q->by, ask_done(q), &e);
	}
	ask_verb(q, rc, &e);
}
