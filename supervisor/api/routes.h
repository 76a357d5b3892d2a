#ifndef SUPERVISOR_API_ROUTES_H
#define SUPERVISOR_API_ROUTES_H

#include "lib/base/shape.h"
#include "lib/http/route.h"

/* The route table, its handlers (web_*.c), and the bodies that are no rows. */
#define ROUTE(name, method, path, scope, takes, gives, of, summary) \
	http_handler route_##name;
#include "supervisor/api/routes.def"
#undef ROUTE

enum web_route {
#define ROUTE(name, method, path, scope, takes, gives, of, summary) \
	WEB_ROUTE_##name,
#include "supervisor/api/routes.def"
#undef ROUTE
	WEB_ROUTES
};

extern const struct http_routes web_routes;

#define WEB_HEALTH(F, S)             \
	F(S, text, version)          \
	F(S, i64, pid)               \
	F(S, i64, epoch)             \
	F(S, time, started_at)       \
	F(S, i64, live)              \
	F(S, i64, idle)              \
	F(S, i64, queued)            \
	F(S, i64, workers_connected) \
	F(S, i64, spares)            \
	F(S, bool, stopping)         \
	F(S, text, listen)           \
	F(S, bool, read_only)        \
	F(S, text, disk)             \
	F(S, i64, disk_free)         \
	F(S, i64, restarts)          \
	F(S, time, restarted_at)     \
	F(S, text, restart_cause) F(S, text, lost) F(S, json, pragmas)
#define WEB_DONE(F, S)   F(S, text, id) F(S, bool, changed) F(S, text, note)
#define WEB_WHY(F, S)    F(S, text, reason)
#define WEB_TEXT(F, S)   F(S, text, text)
#define WEB_LINE(F, S)   F(S, text, line)
#define WEB_ANSWER(F, S) F(S, bool, allow) F(S, text, note) F(S, text, choice)
#define WEB_INTENT(F, S) F(S, text, intent)
#define WEB_AGENT(F, S)    \
	F(S, text, driver) \
	F(S, text, workspace) F(S, text, model) F(S, text, prompt)
#define WEB_RUN_NEW(F, S)           \
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
#define WEB_LIVE(F, S)        \
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
	F(S, text, severity) F(S, text, tone)
#define WEB_TOKEN(F, S)  \
	F(S, text, id)   \
	F(S, text, name) \
	F(S, json, scopes) F(S, time, created_at) F(S, time, expires_at)
#define WEB_SESSION(F, S)  \
	F(S, text, title)  \
	F(S, text, model)  \
	F(S, text, status) \
	F(S, text, kind)   \
	F(S, text, source) \
	F(S, text, parent) F(S, bool, ephemeral) F(S, json, meta)
#define WEB_FORK(F, S) \
	F(S, text, key) F(S, i64, at) F(S, text, title) F(S, bool, copy)
#define WEB_SEQ(F, S)    F(S, opt, seq)
#define WEB_VECTOR(F, S) F(S, i64, seq) F(S, text, model) F(S, json, vector)
#define WEB_NEAR(F, S)      \
	F(S, text, model)   \
	F(S, json, vector)  \
	F(S, text, metric)  \
	F(S, text, session) \
	F(S, bool, hidden) F(S, i64, limit)
#define WEB_TOKEN_NEW(F, S)  F(S, text, name) F(S, json, scopes)
#define WEB_AUDIT(F, S)      F(S, text, act) F(S, text, subject) F(S, json, detail)
#define WEB_PATH(F, S)       F(S, text, path)
#define WEB_PAGES(F, S)      F(S, i64, pages)
#define WEB_TOKEN_MADE(F, S) F(S, text, name) F(S, text, token)

#define WEB_CHANNEL(F, S) \
	F(S, text, kind)  \
	F(S, bool, enabled) F(S, json, command) F(S, json, config)
#define WEB_MESSAGE(F, S)        \
	F(S, text, id)           \
	F(S, text, sender)       \
	F(S, text, conversation) \
	F(S, text, kind)         \
	F(S, text, title)        \
	F(S, text, text)         \
	F(S, json, attachments) F(S, text, agent) F(S, text, session)
#define WEB_POST(F, S)           \
	F(S, text, channel)      \
	F(S, text, conversation) \
	F(S, json, body) F(S, text, key)
#define WEB_LETTER(F, S)   \
	F(S, text, to)     \
	F(S, text, room)   \
	F(S, text, sender) \
	F(S, text, text) F(S, text, key)

SHAPE_DECLARE(web_channel, WEB_CHANNEL);
SHAPE_DECLARE(web_message, WEB_MESSAGE);
SHAPE_DECLARE(web_post, WEB_POST);
SHAPE_DECLARE(web_letter, WEB_LETTER);
SHAPE_DECLARE(web_health, WEB_HEALTH);
SHAPE_DECLARE(web_done, WEB_DONE);
SHAPE_DECLARE(web_why, WEB_WHY);
SHAPE_DECLARE(web_text, WEB_TEXT);
SHAPE_DECLARE(web_line, WEB_LINE);
SHAPE_DECLARE(web_answer, WEB_ANSWER);
SHAPE_DECLARE(web_intent, WEB_INTENT);
SHAPE_DECLARE(web_agent, WEB_AGENT);
SHAPE_DECLARE(web_run_new, WEB_RUN_NEW);
SHAPE_DECLARE(web_live, WEB_LIVE);
SHAPE_DECLARE(web_token, WEB_TOKEN);
SHAPE_DECLARE(web_session, WEB_SESSION);
SHAPE_DECLARE(web_fork, WEB_FORK);
SHAPE_DECLARE(web_seq, WEB_SEQ);
SHAPE_DECLARE(web_vector, WEB_VECTOR);
SHAPE_DECLARE(web_near, WEB_NEAR);
SHAPE_DECLARE(web_audit, WEB_AUDIT);
SHAPE_DECLARE(web_path, WEB_PATH);
SHAPE_DECLARE(web_pages, WEB_PAGES);
SHAPE_DECLARE(web_token_new, WEB_TOKEN_NEW);
SHAPE_DECLARE(web_token_made, WEB_TOKEN_MADE);

#endif
