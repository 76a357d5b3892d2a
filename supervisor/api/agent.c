/* Agents, approvals and tokens. */
#include <string.h>

#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/http/auth.h"
#include "schema/control/agent.h"
#include "supervisor/api/list.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"
#include "supervisor/core/token.h"

static int read_agents(struct api_request *q, struct buf *out, struct err *e)
{
	struct agent_list_in in = {q->from ? q->from : "", q->limit};
	struct sql_rows it = sql_rows(supervisor_db(q->api->sup), Q_AGENT_LIST,
				      &in);
	struct agent_row row;
	char last[72] = "";
	int64_t n = 0;

	list_begin(out);
	for (; sql_next(&it, &row); n++) {
		list_item(out, &agent_row_shape, &row);
		snprintf(last, sizeof last, "%s", row.name);
	}
	list_end(out, n == q->limit ? last : NULL);
	return sql_end(&it, e);
}

void route_agents(struct api_request *q)
{
	if (request_limit(q))
		return;
	q->from = request_query(q, "after");
	request_read(q, read_agents);
}

static int read_agent(struct api_request *q, struct buf *out, struct err *e)
{
	struct agent_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_AGENT_GET,
			    &(struct agent_get_in){q->key}, &row, &q->arena, e);

	if (found == 0)
		return agents_missing(supervisor_db(q->api->sup), q->key, e);
	if (found > 0)
		json_add_shape(out, &agent_row_shape, &row);
	return found < 0 ? -1 : 0;
}

void route_agent_show(struct api_request *q)
{
	q->key = request_param(q, "name");
	request_read(q, read_agent);
}

void route_agent_put(struct api_request *q, const char *body)
{
	struct err e = {0};

	q->key = request_param(q, "name");
	q->read = read_agent;
	request_command(q,
			supervisor_agent_put(q->api->sup, q->key, body, q->by,
					     request_done(q), &e),
			&e);
}

void route_agent_delete(struct api_request *q)
{
	const char *name = http_param(q->http, "name");
	struct err e = {0};
	int rc;

	if (http_query_flag(q->http, "purge")) {
		/* close cached connections first */
		agent_files_close(&q->api->files);
		rc = supervisor_agent_delete_all(q->api->sup, name, q->by,
						 request_done(q), &e);
	} else {
		rc = supervisor_agent_delete(q->api->sup, name, q->by,
					     request_done(q), &e);
	}
	request_command(q, rc, &e);
}

void route_agent_move(struct api_request *q, const struct agent_path_body *body)
{
	struct err e = {0};

	request_command(
		q,
		supervisor_agent_move(q->api->sup, http_param(q->http, "name"),
				      body->path, q->by, request_done(q), &e),
		&e);
}

static int read_file(struct api_request *q, struct buf *out, struct err *e)
{
	struct agent_database_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_AGENT_DATABASE_GET,
			    &(struct agent_database_get_in){q->key}, &row,
			    &q->arena, e);

	if (found > 0)
		json_add_shape(out, &agent_database_row_shape, &row);
	return found < 0 ? -1 : 0;
}

void route_agent_file(struct api_request *q)
{
	struct err e = {0};

	q->key = request_param(q, "name");
	q->read = read_file;
	request_command(
		q,
		supervisor_agent_file(q->api->sup, q->key, request_done(q), &e),
		&e);
}

static int read_approvals(struct api_request *q, struct buf *out, struct err *e)
{
	static const struct api_lists list = {LISTS_APPROVALS,
					      &approval_row_shape, "id", NULL};
	struct approval_filter filter = {.state = q->filter[0],
					 .run = q->filter[1],
					 .before = q->from,
					 .count = q->limit};

	return api_lists(q, &list, &filter, out, e);
}

void route_approvals(struct api_request *q)
{
	if (request_limit(q) || request_before(q, ID_APPROVAL))
		return;
	q->filter[0] = request_query(q, "state");
	q->filter[1] = request_query(q, "run");
	request_read(q, read_approvals);
}

static int read_approval(struct api_request *q, struct buf *out, struct err *e)
{
	struct approval_row row;
	int found = sql_get(supervisor_db(q->api->sup), Q_APPROVAL_GET,
			    &(struct approval_get_in){q->key}, &row, &q->arena,
			    e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no approval %s",
			       quoted(q->key).text);
	if (found > 0)
		json_add_shape(out, &approval_row_shape, &row);
	return found < 0 ? -1 : 0;
}

void route_approval_show(struct api_request *q)
{
	q->key = request_param(q, "id");
	request_read(q, read_approval);
}

void route_approval_answer(struct api_request *q,
			   const struct approval_answer_body *body)
{
	struct supervisor_answer answer = {body->allow, body->note,
					   body->choice, q->by};
	struct err e = {0};

	q->key = request_param(q, "id");
	q->read = read_approval;
	request_command(q,
			supervisor_answer(q->api->sup, q->key, &answer,
					  request_done(q), &e),
			&e);
}

static int read_versions(struct api_request *q, struct buf *out, struct err *e)
{
	return api_list(q, Q_AGENT_VERSION_LIST,
			&(struct agent_version_list_in){q->id}, out, e);
}

void route_agent_versions(struct api_request *q)
{
	q->id = request_param(q, "name");
	request_read_async(q, read_versions);
}

static int64_t file_size(const char *path, const char *suffix)
{
	struct buf full = BUF_MAX(8192);
	struct stat st = {0};

	buf_addf(&full, "%s%s", path, suffix);
	if (stat(full.p, &st))
		st.st_size = 0;
	buf_fini(&full);
	return st.st_size;
}

static int read_storage(struct api_request *q, struct buf *out, struct err *e)
{
	struct agent_database_get_in key = {q->id};
	struct agent_database_row file;
	struct backup_run_row backup;
	struct api_storage row = {.backup_at = OPT_NONE};
	int found = sql_get(q->db, Q_AGENT_DATABASE_GET, &key, &file, &q->arena,
			    e);

	if (found > 0) {
		row.path = file.path;
		row.bytes = file_size(file.path, "");
		row.wal_bytes = file_size(file.path, "-wal");
	}
	if (found >= 0)
		found = sql_get(q->db, Q_BACKUP_NEWEST, NULL, &backup,
				&q->arena, e);
	if (found > 0) {
		row.backup_at = backup.started_at;
		row.backup_state = backup.state;
	}
	if (found >= 0)
		json_add_shape(out, &api_storage_shape, &row);
	return found < 0 ? -1 : 0;
}

void route_agent_storage(struct api_request *q)
{
	q->id = request_param(q, "name");
	request_read(q, read_storage);
}

static int read_tokens(struct api_request *q, struct buf *out, struct err *e)
{
	return api_list(q, Q_API_TOKEN_LIST, NULL, out, e);
}

void route_tokens(struct api_request *q)
{
	request_read(q, read_tokens);
}

/* Only this response contains the token. */
static int read_new_token(struct api_request *q, struct buf *out, struct err *e)
{
	struct api_token_made made = {.name = q->key, .token = q->from};

	(void)e;
	json_add_shape(out, &api_token_made_shape, &made);
	return 0;
}

void route_token_add(struct api_request *q, const struct token_add_body *body)
{
	char secret[HTTP_TOKEN_SIZE], hash[HASH_HEX];
	struct supervisor_token token = {body->name, hash, body->scopes,
					 body->lifetime_ms, q->by};
	struct err e = {0};

	http_token_new(secret);
	http_token_hash(secret, hash);
	q->key = body->name;
	q->from = arena_text(&q->arena, secret);
	q->read = read_new_token;
	q->status = 201;
	request_command(
		q,
		supervisor_token_add(q->api->sup, &token, request_done(q), &e),
		&e);
}

void route_token_delete(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_token_delete(q->api->sup,
						http_param(q->http, "name"),
						q->by, request_done(q), &e),
			&e);
}
