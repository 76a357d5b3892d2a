#ifndef SUPERVISOR_API_ROUTES_H
#define SUPERVISOR_API_ROUTES_H

#include "lib/base/shape.h"
#include "lib/http/route.h"

/*
 * The route table, its handlers and the bodies that they take. The wrapper of a
 * route (routes.c) makes the request, checks and reads the body as routes.def
 * declares it, and calls route_NAME.
 */
struct api_request;

enum api_route {
#define ROUTE(name, method, path, scope, request, response, of, summary) \
	API_ROUTE_##name,
#include "supervisor/api/routes.def"
	API_ROUTES
};

/* The C type of a value of each type: value_name, value_limit, … */
#define TYPE(name, kind, form, min, max, words) \
	typedef http_value_##kind value_##name;
#include "supervisor/api/types.def"
#undef TYPE

#define BODY(tag)                                struct tag {
#define MEMBER(tag, name, type, need, otherwise) value_##type name;
#define BODY_END(tag) \
	}             \
	;
#define ROW(tag) struct tag;
#define FIELD(tag, name, type, need, otherwise)
#define ROW_END(tag)
#include "supervisor/api/routes.def"

/* The body is borrowed for the duration of the call; a struct lives as long as
 * the request. */
#define TAKES_NOTHING
#define TAKES_STRUCT(tag) , const struct tag *body
#define TAKES_TEXT(tag)   , const char *body
#define TAKES_TREE(tag)   , const cJSON *body
#define TAKES_RAW         , struct blob body
#define ROUTE(name, method, path, scope, request, response, of, summary) \
	void route_##name(struct api_request *q TAKES_##request);
#include "supervisor/api/routes.def"

extern const struct http_routes api_routes;

/* --- answers other than rows -------------------------------------------- */

#define API_HEALTH(F, S)             \
	F(S, text, version)          \
	F(S, i64, pid)               \
	F(S, i64, epoch)             \
	F(S, time, started_at)       \
	F(S, i64, active)            \
	F(S, i64, idle)              \
	F(S, i64, queued)            \
	F(S, i64, workers_connected) \
	F(S, i64, preforked)         \
	F(S, bool, stopping)         \
	F(S, text, listen)           \
	F(S, bool, read_only)        \
	F(S, text, disk)             \
	F(S, i64, disk_free)         \
	F(S, i64, restarts)          \
	F(S, time, restarted_at)     \
	F(S, text, restart_cause) F(S, text, lost) F(S, json, pragmas)
#define API_DONE(F, S) F(S, text, id) F(S, bool, changed) F(S, text, note)
#define API_LINE(F, S) F(S, text, line)
#define API_ACTIVE(F, S)         \
	F(S, text, id)           \
	F(S, text, agent)        \
	F(S, text, session)      \
	F(S, text, state)        \
	F(S, text, phase)        \
	F(S, i64, age_ms)        \
	F(S, i64, attempt)       \
	F(S, i64, events)        \
	F(S, opt, silent_ms)     \
	F(S, bool, connected)    \
	F(S, opt, pid)           \
	F(S, opt, rss)           \
	F(S, opt, processes)     \
	F(S, text, health)       \
	F(S, text, severity)     \
	F(S, json, tags)         \
	F(S, text, submitted_by) \
	F(S, text, parent)       \
	F(S, time, created_at)   \
	F(S, time, started_at)   \
	F(S, time, last_at)      \
	F(S, i64, input_tokens)  \
	F(S, i64, output_tokens) \
	F(S, i64, cost_micros)   \
	F(S, text, approval)     \
	F(S, text, waits_for)    \
	F(S, time, waits_since)
#define API_WORKSPACE(F, S) \
	F(S, text, name)    \
	F(S, text, lower) F(S, text, parent) F(S, time, created_at)
#define API_FILE(F, S)   \
	F(S, text, name) \
	F(S, text, type) \
	F(S, i64, mode)  \
	F(S, i64, size) F(S, time, modified_at) F(S, text, target)
#define API_WORKSPACE_USAGE(F, S) \
	F(S, i64, bytes)          \
	F(S, i64, files) F(S, i64, max_bytes) F(S, i64, max_files)
#define API_WORKSPACE_CHANGE(F, S) \
	F(S, i64, seq)             \
	F(S, text, change)         \
	F(S, text, path)           \
	F(S, text, by)             \
	F(S, time, at)             \
	F(S, text, run) F(S, opt, turn) F(S, text, tool)
#define API_SNAPSHOT(F, S) F(S, text, name) F(S, time, created_at)
#define API_STORAGE(F, S)    \
	F(S, text, path)     \
	F(S, i64, bytes)     \
	F(S, i64, wal_bytes) \
	F(S, time, backup_at) F(S, text, backup_state)
#define API_SEARCH_HIT(F, S) \
	F(S, text, session)  \
	F(S, i64, seq)       \
	F(S, text, type)     \
	F(S, time, at) F(S, f64, score) F(S, text, snippet) F(S, text, sid)
#define API_USAGE(F, S) \
	F(S, text, id)  \
	F(S, i64, rss) F(S, i64, cpu_ms) F(S, i64, processes)
#define API_VECTOR(F, S) F(S, i64, seq) F(S, text, model)
#define API_CHANGE(F, S)   \
	F(S, text, change) \
	F(S, text, path) F(S, text, text) F(S, bool, conflict)
#define API_SLOT(F, S)       F(S, time, slot) F(S, time, due_at) F(S, text, local)
#define API_TOKEN_MADE(F, S) F(S, text, name) F(S, text, token)
#define API_LOGIN_CODE(F, S) F(S, text, id) F(S, text, code) F(S, text, url)

SHAPE_DECLARE(api_health, API_HEALTH);
SHAPE_DECLARE(api_done, API_DONE);
SHAPE_DECLARE(api_line, API_LINE);
SHAPE_DECLARE(api_active, API_ACTIVE);
SHAPE_DECLARE(api_workspace, API_WORKSPACE);
SHAPE_DECLARE(api_file, API_FILE);
SHAPE_DECLARE(api_workspace_usage, API_WORKSPACE_USAGE);
SHAPE_DECLARE(api_workspace_change, API_WORKSPACE_CHANGE);
SHAPE_DECLARE(api_snapshot, API_SNAPSHOT);
SHAPE_DECLARE(api_storage, API_STORAGE);
SHAPE_DECLARE(api_search_hit, API_SEARCH_HIT);
SHAPE_DECLARE(api_usage, API_USAGE);
SHAPE_DECLARE(api_vector, API_VECTOR);
SHAPE_DECLARE(api_change, API_CHANGE);
SHAPE_DECLARE(api_slot, API_SLOT);
SHAPE_DECLARE(api_token_made, API_TOKEN_MADE);
SHAPE_DECLARE(api_login_code, API_LOGIN_CODE);

#endif
