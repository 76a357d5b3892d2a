#include "supervisor/api/api.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/http/auth.h"
#include "supervisor/api/mailbox_wait.h"
#include "supervisor/api/openai/answer.h"
#include "supervisor/api/openai/error.h"
#include "supervisor/api/routes.h"
#include "supervisor/api/stream/stream.h"

#define TICK_MS   1000
#define NAMES_MAX 32

/* Bits of a JSON list of scope words. */
static unsigned scopes_of(const char *json)
{
	struct err ignored;
	cJSON *list = json_parse("scopes", json, strlen(json), &ignored);
	const cJSON *v;
	unsigned scopes = 0;

	cJSON_ArrayForEach(v, list)
	{
		int scope = cJSON_IsString(v) ? http_scope_from(v->valuestring)
					      : -1;

		if (scope > HTTP_SCOPE_PUBLIC)
			scopes |= 1u << scope;
	}
	cJSON_Delete(list);
	return scopes;
}

/* The token may not be committed yet. If the commit fails, the request fails
 * too. */
static int find_token(struct api *w, const char *hash,
		      struct http_principal *who, struct err *e)
{
	struct api_token_row row;
	struct arena a = {0};
	int found = sql_get(supervisor_db(w->sup), Q_API_TOKEN_FIND,
			    &(struct api_token_find_in){hash, clock_now()},
			    &row, &a, e);

	if (found > 0 && http_token_equal(row.hash, hash)) {
		snprintf(who->name, sizeof who->name, "%s", row.name);
		who->scopes = scopes_of(row.scopes);
	} else if (found >= 0) {
		found = err_set(e, ERR_UNAUTHORIZED, "unknown token");
	}
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

/* The login of a browser; its id is the name of the client. */
static int find_login(struct api *w, const char *hash,
		      struct http_principal *who, struct err *e)
{
	struct login_by_hash_in key = {hash, true, clock_now()};
	struct login_row row;
	struct arena a = {0};
	int found = sql_get(supervisor_db(w->sup), Q_LOGIN_BY_HASH, &key, &row,
			    &a, e);

	if (found > 0 && http_token_equal(row.hash, hash)) {
		text_printf(who->name, sizeof who->name, "%s", row.id);
		who->scopes = scopes_of(row.scopes);
	} else if (found >= 0) {
		found = err_set(e, ERR_UNAUTHORIZED,
				"this login has ended; sign in again");
	}
	arena_fini(&a);
	return found < 0 ? -1 : 0;
}

static int check_credential(void *app, enum http_credential kind,
			    const char *hash, struct http_principal *who,
			    struct err *e)
{
	return kind == HTTP_COOKIE ? find_login(app, hash, who, e)
				   : find_token(app, hash, who, e);
}

/* Splits a text at spaces into a NULL-terminated list; free it with
 * free_words. */
static const char **split_words(const char *text)
{
	const char **list = calloc(NAMES_MAX + 1, sizeof *list);
	char *copy = strdup(text), *rest = copy, *word;
	size_t n = 0;

	if (!list || !copy)
		abort();
	while (n < NAMES_MAX && (word = strsep(&rest, " ")))
		if (*word)
			list[n++] = word;
	if (n == 0)
		free(copy);
	else if (list[0] != copy) /* leading spaces */
		list[0] = memmove(copy, list[0], strlen(list[0]) + 1);
	return list;
}

static void free_words(const char **list)
{
	if (list)
		free((void *)(uintptr_t)list[0]);
	free(list);
}

static void on_tick(uv_timer_t *t)
{
	struct api *w = t->data;

	streams_poll(w);
	openai_answer_tick(w);
	agent_files_expire(&w->files);
}

static void on_poll_soon(uv_timer_t *t)
{
	streams_poll_unfinished(t->data);
}

void api_poll_soon(struct api *w)
{
	if (!w->stopped && !uv_is_active((uv_handle_t *)&w->soon))
		uv_timer_start(&w->soon, on_poll_soon, 1, 0);
}

static struct http_limits limits_of(const struct config *c)
{
	return (struct http_limits){
		.head = (size_t)c->http_head_max,
		.body = (size_t)c->http_body_max,
		.queue = (size_t)c->http_unread_max,
		.conns = (unsigned)c->http_connections,
		.login_ms = (unsigned)c->http_login_timeout,
		.request_ms = (unsigned)c->http_request_timeout,
		.idle_ms = (unsigned)c->http_idle_timeout,
		.stall_ms = (unsigned)c->http_stall_timeout,
		.beat_ms = (unsigned)c->http_heartbeat,
	};
}

static int open_server(struct api *w, struct err *e)
{
	const struct config *c = supervisor_config(w->sup);
	struct home_path path = home_path(supervisor_home(w->sup),
					  HOME_HTTP_SOCKET);
	char home[HASH_HEX];
	struct http_config config = {
		.unix_path = path.text,
		.tcp_address = c->http_listen[0] ? c->http_listen : NULL,
		.routes = api_routes,
		.error_body = openai_error_body,
		.check = check_credential,
		.cookie = w->cookie,
		.limits = limits_of(c),
		.app = w,
	};

	/* Cookies are shared by all ports of a host, so the name of the cookie
	 * is that of the home. */
	hash_of(supervisor_home(w->sup)->root,
		strlen(supervisor_home(w->sup)->root), home);
	text_printf(w->cookie, sizeof w->cookie, "skep_%.12s", home);
	w->hosts = split_words(c->http_hosts);
	w->origins = split_words(c->http_origins);
	config.hosts = w->hosts;
	config.origins = w->origins;
	if (http_server_open(&w->server, w->loop, &config, e))
		return -1;
	if (http_server_port(w->server)) /* chosen by the kernel, if it is 0 */
		log_info(LT("msg", "listening"), LT("address", c->http_listen),
			 LI("port", http_server_port(w->server)));
	return 0;
}

int api_open(struct api **out, struct supervisor *sup, uv_loop_t *loop,
	     struct err *e)
{
	struct api *w = calloc(1, sizeof *w);

	if (!w)
		abort();
	w->sup = sup;
	w->loop = loop;
	if (api_counts_open(&w->counts, sup, e) || open_server(w, e)) {
		w->stopped = true;
		mailbox_wait_stop(w);
		api_close(w);
		return -1;
	}
	uv_timer_init(loop, &w->timer);
	uv_timer_init(loop, &w->soon);
	w->timer.data = w->soon.data = w;
	uv_timer_start(&w->timer, on_tick, TICK_MS, TICK_MS);
	mailbox_wait_open(w);
	*out = w;
	return 0;
}

void api_stop(struct api *w)
{
	if (w->stopped)
		return;
	w->stopped = true;
	openai_answer_stop(w);
	uv_close((uv_handle_t *)&w->timer, NULL);
	uv_close((uv_handle_t *)&w->soon, NULL);
	http_server_stop(w->server);
}

void api_close(struct api *w)
{
	if (!w)
		return;
	http_server_close(w->server);
	streams_close(w);
	api_counts_close(&w->counts);
	agent_files_close(&w->files);
	free_words(w->hosts);
	free_words(w->origins);
	free(w);
}
