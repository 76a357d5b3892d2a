#include "supervisor/api/routes.h"

#include "schema/agent/search/vector.h"
#include "schema/agent/search/vector_search.h"
#include "schema/agent/transcript/event.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent_queries.h"
#include "schema/control/agent.h"
#include "schema/control/channel/channel.h"
#include "schema/control/channel/retention.h"
#include "schema/control/run.h"
#include "schema/control_queries.h"
#include "schema/vocab.h"
#include "supervisor/core/commands.h"

SHAPE_DEFINE(web_channel, WEB_CHANNEL);
SHAPE_DEFINE(web_message, WEB_MESSAGE);
SHAPE_DEFINE(web_post, WEB_POST);
SHAPE_DEFINE(web_letter, WEB_LETTER);
SHAPE_DEFINE(web_health, WEB_HEALTH);
SHAPE_DEFINE(web_done, WEB_DONE);
SHAPE_DEFINE(web_why, WEB_WHY);
SHAPE_DEFINE(web_text, WEB_TEXT);
SHAPE_DEFINE(web_line, WEB_LINE);
SHAPE_DEFINE(web_answer, WEB_ANSWER);
SHAPE_DEFINE(web_intent, WEB_INTENT);
SHAPE_DEFINE(web_agent, WEB_AGENT);
SHAPE_DEFINE(web_run_new, WEB_RUN_NEW);
SHAPE_DEFINE(web_live, WEB_LIVE);
SHAPE_DEFINE(web_token, WEB_TOKEN);
SHAPE_DEFINE(web_session, WEB_SESSION);
SHAPE_DEFINE(web_fork, WEB_FORK);
SHAPE_DEFINE(web_seq, WEB_SEQ);
SHAPE_DEFINE(web_vector, WEB_VECTOR);
SHAPE_DEFINE(web_near, WEB_NEAR);
SHAPE_DEFINE(web_audit, WEB_AUDIT);
SHAPE_DEFINE(web_path, WEB_PATH);
SHAPE_DEFINE(web_pages, WEB_PAGES);
SHAPE_DEFINE(web_token_new, WEB_TOKEN_NEW);
SHAPE_DEFINE(web_token_made, WEB_TOKEN_MADE);

static const struct http_route rows[] = {
#define ROUTE(name_, method_, path_, scope_, takes_, gives_, of, text) \
	{.name = #name_,                                               \
	 .method = #method_,                                           \
	 .path = path_,                                                \
	 .scope = HTTP_SCOPE_##scope_,                                 \
	 .handle = route_##name_,                                      \
	 .summary = text,                                              \
	 .takes = takes_,                                              \
	 .gives = HTTP_GIVES_##gives_,                                 \
	 .shape = of},
#include "supervisor/api/routes.def"
#undef ROUTE
};

#define TYPE(name_, kind_, form_, min_, max_, words_)                     \
	static const struct http_type type_##name_ = {                    \
		#name_, HTTP_KIND_##kind_, HTTP_FORM_##form_, min_, max_, \
		words_};
#include "supervisor/api/types.def"
#undef TYPE

static const struct http_input inputs[] = {
#define INPUT(route_, in_, name_, of_, need_) \
	{WEB_ROUTE_##route_, HTTP_IN_##in_, name_, &type_##of_, HTTP_##need_},
#include "supervisor/api/inputs.def"
#undef INPUT
};

const struct http_routes web_routes = {rows, sizeof rows / sizeof rows[0],
				       inputs,
				       sizeof inputs / sizeof inputs[0]};
