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

SHAPE_DEFINE(api_channel, API_CHANNEL);
SHAPE_DEFINE(api_message, API_MESSAGE);
SHAPE_DEFINE(api_post, API_POST);
SHAPE_DEFINE(api_letter, API_LETTER);
SHAPE_DEFINE(api_health, API_HEALTH);
SHAPE_DEFINE(api_done, API_DONE);
SHAPE_DEFINE(api_why, API_WHY);
SHAPE_DEFINE(api_text, API_TEXT);
SHAPE_DEFINE(api_line, API_LINE);
SHAPE_DEFINE(api_answer, API_ANSWER);
SHAPE_DEFINE(api_intent, API_INTENT);
SHAPE_DEFINE(api_agent, API_AGENT);
SHAPE_DEFINE(api_run_new, API_RUN_NEW);
SHAPE_DEFINE(api_active, API_ACTIVE);
SHAPE_DEFINE(api_token, API_TOKEN);
SHAPE_DEFINE(api_session, API_SESSION);
SHAPE_DEFINE(api_fork, API_FORK);
SHAPE_DEFINE(api_seq, API_SEQ);
SHAPE_DEFINE(api_vector, API_VECTOR);
SHAPE_DEFINE(api_near, API_NEAR);
SHAPE_DEFINE(api_audit, API_AUDIT);
SHAPE_DEFINE(api_path, API_PATH);
SHAPE_DEFINE(api_pages, API_PAGES);
SHAPE_DEFINE(api_token_new, API_TOKEN_NEW);
SHAPE_DEFINE(api_token_made, API_TOKEN_MADE);

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
	{API_ROUTE_##route_, HTTP_IN_##in_, name_, &type_##of_, HTTP_##need_},
#include "supervisor/api/inputs.def"
#undef INPUT
};

const struct http_routes api_routes = {rows, sizeof rows / sizeof rows[0],
				       inputs,
				       sizeof inputs / sizeof inputs[0]};
