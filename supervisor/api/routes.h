#ifndef SUPERVISOR_API_ROUTES_H
#define SUPERVISOR_API_ROUTES_H

#include "lib/base/shape.h"
#include "lib/http/route.h"

/* The route table, its handlers (web_*.c), and the bodies that are no rows. */
#define ROUTE(name, method, path, scope, takes, gives, of, summary) \
	http_handler route_##name;
#include "supervisor/api/routes.def"
#undef ROUTE

enum api_route {
#define ROUTE(name, method, path, scope, takes, gives, of, summary) \
	API_ROUTE_##name,
#include "supervisor/api/routes.def"
#undef ROUTE
	API_ROUTES
};

extern const struct http_routes api_routes;

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
#define API_DONE(F, S)   F(S, text, id) F(S, bool, changed) F(S, text, note)
#define API_WHY(F, S)    F(S, text, reason)
#define API_TEXT(F, S)   F(S, text, text)
#define API_LINE(F, S)   F(S, text, line)
#define API_ANSWER(F, S) F(S, bool, allow) F(S, text, note) F(S, text, choice)
#define API_INTENT(F, S) F(S, text, intent)
#define API_AGENT(F, S)    \
	F(S, text, driver) \
	F(S, text, workspace) F(S, text, model) F(S, text, prompt)
#define API_RUN_NEW(F, S)           \
	F(S, text, agent)           \
	F(S, text, session)         \
	F(S, text, prompt)          \
	F(S, json, options)         \
	F(S, json, attachments)     \
	F(S, text, policy)          \
	F(S, text, parent)          \
	F(S, text, idem_key)        \
	F(S, json, tags)            \
	F(S, text, invocation)      \
	F(S, opt, priority)         \
	F(S, opt, delay_ms)         \
	F(S, opt, queue_timeout_ms) \
	F(S, opt, run_timeout_ms)   \
	F(S, opt, idle_timeout_ms)  \
	F(S, opt, grace_ms) F(S, opt, max_attempts) F(S, opt, backoff_ms)
#define API_ACTIVE(F, S)      \
	F(S, text, id)        \
	F(S, text, agent)     \
	F(S, text, session)   \
	F(S, text, state)     \
	F(S, text, phase)     \
	F(S, i64, age_ms)     \
	F(S, i64, attempt)    \
	F(S, i64, events)     \
	F(S, opt, heard_ms)   \
	F(S, bool, connected) \
	F(S, opt, pid)        \
	F(S, opt, rss)        \
	F(S, opt, processes)  \
	F(S, text, health)    \
	F(S, text, severity)
#define API_TOKEN(F, S)  \
	F(S, text, id)   \
	F(S, text, name) \
	F(S, json, scopes) F(S, time, created_at) F(S, time, expires_at)
#define API_SESSION(F, S)  \
	F(S, text, title)  \
	F(S, text, model)  \
	F(S, text, status) \
	F(S, text, kind)   \
	F(S, text, source) \
	F(S, text, parent) F(S, bool, ephemeral) F(S, json, meta)
#define API_FORK(F, S) \
	F(S, text, key) F(S, i64, at) F(S, text, title) F(S, bool, copy)
#define API_SEQ(F, S)    F(S, opt, seq)
#define API_VECTOR(F, S) F(S, i64, seq) F(S, text, model) F(S, json, vector)
#define API_NEAR(F, S)      \
	F(S, text, model)   \
	F(S, json, vector)  \
	F(S, text, metric)  \
	F(S, text, session) \
	F(S, bool, hidden) F(S, i64, limit)
#define API_TOKEN_NEW(F, S)  F(S, text, name) F(S, json, scopes)
#define API_AUDIT(F, S)      F(S, text, act) F(S, text, subject) F(S, json, detail)
#define API_PATH(F, S)       F(S, text, path)
#define API_PAGES(F, S)      F(S, i64, pages)
#define API_TOKEN_MADE(F, S) F(S, text, name) F(S, text, token)

#define API_CHANNEL(F, S) \
	F(S, text, kind)  \
	F(S, bool, enabled) F(S, json, command) F(S, json, config)
#define API_MESSAGE(F, S)        \
	F(S, text, id)           \
	F(S, text, sender)       \
	F(S, text, conversation) \
	F(S, text, kind)         \
	F(S, text, title)        \
	F(S, text, text)         \
	F(S, json, attachments) F(S, text, agent) F(S, text, session)
#define API_POST(F, S)           \
	F(S, text, channel)      \
	F(S, text, conversation) \
	F(S, json, body) F(S, text, key)
#define API_LETTER(F, S)   \
	F(S, text, to)     \
	F(S, text, room)   \
	F(S, text, sender) \
	F(S, text, text) F(S, text, key)

SHAPE_DECLARE(api_channel, API_CHANNEL);
SHAPE_DECLARE(api_message, API_MESSAGE);
SHAPE_DECLARE(api_post, API_POST);
SHAPE_DECLARE(api_letter, API_LETTER);
SHAPE_DECLARE(api_health, API_HEALTH);
SHAPE_DECLARE(api_done, API_DONE);
SHAPE_DECLARE(api_why, API_WHY);
SHAPE_DECLARE(api_text, API_TEXT);
SHAPE_DECLARE(api_line, API_LINE);
SHAPE_DECLARE(api_answer, API_ANSWER);
SHAPE_DECLARE(api_intent, API_INTENT);
SHAPE_DECLARE(api_agent, API_AGENT);
SHAPE_DECLARE(api_run_new, API_RUN_NEW);
SHAPE_DECLARE(api_active, API_ACTIVE);
SHAPE_DECLARE(api_token, API_TOKEN);
SHAPE_DECLARE(api_session, API_SESSION);
SHAPE_DECLARE(api_fork, API_FORK);
SHAPE_DECLARE(api_seq, API_SEQ);
SHAPE_DECLARE(api_vector, API_VECTOR);
SHAPE_DECLARE(api_near, API_NEAR);
SHAPE_DECLARE(api_audit, API_AUDIT);
SHAPE_DECLARE(api_path, API_PATH);
SHAPE_DECLARE(api_pages, API_PAGES);
SHAPE_DECLARE(api_token_new, API_TOKEN_NEW);
SHAPE_DECLARE(api_token_made, API_TOKEN_MADE);

#endif
