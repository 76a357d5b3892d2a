#include "supervisor/api/routes.h"

#include "lib/os/log_search.h"
#include "schema/agent/search/vector.h"
#include "schema/agent/search/vector_search.h"
#include "schema/agent/transcript/event.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent_queries.h"
#include "schema/control/agent.h"
#include "schema/control/budget.h"
#include "schema/control/channel/channel.h"
#include "schema/control/channel/retention.h"
#include "schema/control/run.h"
#include "schema/control_queries.h"
#include "schema/vocab.h"
#include "supervisor/api/request.h"
#include "supervisor/core/commands.h"
#include "supervisor/core/experiments.h"

SHAPE_DEFINE(api_health, API_HEALTH);
SHAPE_DEFINE(api_done, API_DONE);
SHAPE_DEFINE(api_line, API_LINE);
SHAPE_DEFINE(api_active, API_ACTIVE);
SHAPE_DEFINE(api_workspace, API_WORKSPACE);
SHAPE_DEFINE(api_file, API_FILE);
SHAPE_DEFINE(api_workspace_usage, API_WORKSPACE_USAGE);
SHAPE_DEFINE(api_workspace_change, API_WORKSPACE_CHANGE);
SHAPE_DEFINE(api_snapshot, API_SNAPSHOT);
SHAPE_DEFINE(api_storage, API_STORAGE);
SHAPE_DEFINE(api_search_hit, API_SEARCH_HIT);
SHAPE_DEFINE(api_usage, API_USAGE);
SHAPE_DEFINE(api_vector, API_VECTOR);
SHAPE_DEFINE(api_change, API_CHANGE);
SHAPE_DEFINE(api_slot, API_SLOT);
SHAPE_DEFINE(api_token_made, API_TOKEN_MADE);
SHAPE_DEFINE(api_login_code, API_LOGIN_CODE);

#define TYPE(name_, kind_, form_, min_, max_, words_)                     \
	static const struct http_type type_##name_ = {                    \
		#name_, HTTP_KIND_##kind_, HTTP_FORM_##form_, min_, max_, \
		words_};
#include "supervisor/api/types.def"
#undef TYPE

/* --- bodies ------------------------------------------------------------ */

#define INPUT(name_, type_, need_)                                \
	{                                                         \
		.in = HTTP_IN_BODY, .name = name_, .type = type_, \
		.need = HTTP_##need_                              \
	}
#define MEMBERS(tag) static const struct http_member tag##_members[] = {
#define MEMBER(tag, name_, of_, need_, otherwise_)   \
	{.input = INPUT(#name_, &type_##of_, need_), \
	 .otherwise = otherwise_,                    \
	 .offset = offsetof(struct tag, name_)},
#define MEMBERS_END(tag, size_)                    \
	}                                          \
	;                                          \
	static const struct http_body tag##_is = { \
		#tag, size_, tag##_members,        \
		sizeof tag##_members / sizeof tag##_members[0]};
#define BODY(tag)     MEMBERS(tag)
#define BODY_END(tag) MEMBERS_END(tag, sizeof(struct tag))
#define ROW(tag)      MEMBERS(tag)
#define FIELD         MEMBER
#define ROW_END(tag)  MEMBERS_END(tag, sizeof(struct tag))
#define DOCUMENT(tag) MEMBERS(tag)
#define ENTRY(tag, name_, of_, need_) \
	{.input = INPUT(#name_, &type_##of_, need_)},
#define OTHERS(tag)       {.input = INPUT(HTTP_OTHERS, &type_any, OPTIONAL)},
#define DOCUMENT_END(tag) MEMBERS_END(tag, 0)
#include "supervisor/api/routes.def"

/* The C type of a field of a row is that of its member. */
#define ROW(tag)
#define FIELD(tag, name_, of_, need_, otherwise_)                             \
	_Static_assert(_Generic(((struct tag *)NULL)->name_, value_##of_ : 1, \
				default : 0),                                 \
		       #tag "." #name_ " has another type");
#define ROW_END(tag)
#include "supervisor/api/routes.def"

/* --- routes ------------------------------------------------------------ */

static const void *read_struct(struct api_request *q,
			       const struct http_body *body)
{
	return http_body_struct(body, http_body_members(q->http), &q->arena);
}

#define GIVE_NOTHING
#define GIVE_STRUCT(tag) , read_struct(q, &tag##_is)
#define GIVE_TEXT(tag)   , http_body(r).p
#define GIVE_TREE(tag)   , http_body_members(r)
#define GIVE_RAW         , http_body(r)
#define ROUTE(name, method, path, scope, request, response, of, summary)   \
	static void handle_##name(void *app, const struct http_request *r, \
				  struct http_reply *reply)                \
	{                                                                  \
		struct api_request *q = request_new(app, r, reply);        \
                                                                           \
		route_##name(q GIVE_##request);                            \
	}
#include "supervisor/api/routes.def"

#define OF_NOTHING     NULL
#define OF_STRUCT(tag) &tag##_is
#define OF_TEXT(tag)   &tag##_is
#define OF_TREE(tag)   &tag##_is
#define OF_RAW         &http_body_raw
#define ROUTE(name_, method_, path_, scope_, takes_, gives_, of, text) \
	{.name = #name_,                                               \
	 .method = #method_,                                           \
	 .path = path_,                                                \
	 .scope = HTTP_SCOPE_##scope_,                                 \
	 .handle = handle_##name_,                                     \
	 .summary = text,                                              \
	 .request = OF_##takes_,                                       \
	 .response = HTTP_RESPONSE_##gives_,                           \
	 .shape = of},
static const struct http_route rows[] = {
#include "supervisor/api/routes.def"
};

#define PATH(route_, name_, of_) \
	{API_ROUTE_##route_, HTTP_IN_PATH, #name_, &type_##of_, HTTP_REQUIRED},
#define QUERY(route_, name_, of_, need_) \
	{API_ROUTE_##route_, HTTP_IN_QUERY, #name_, &type_##of_, HTTP_##need_},
static const struct http_input inputs[] = {
#include "supervisor/api/routes.def"
};

const struct http_routes api_routes = {rows, sizeof rows / sizeof rows[0],
				       inputs,
				       sizeof inputs / sizeof inputs[0]};
