/* Logins of browsers: one-time codes, cookies, the list. */
#include "supervisor/core/login.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/http/auth.h"
#include "schema/control_queries.h"
#include "supervisor/api/list.h"
#include "supervisor/api/request.h"
#include "supervisor/api/routes.h"

#define ID_PREFIX "lgn_"

/* Where a browser reaches skepd: http.url, or the TCP address. A wildcard
 * address is replaced by the loopback one. */
static const char *page_url(struct api_request *q, const char *code)
{
	const struct config *c = supervisor_config(q->api->sup);
	const char *listen = c->http_listen;
	int port = http_server_port(q->api->server);
	int n = (int)(strrchr(listen, ':') ? strrchr(listen, ':') - listen : 0);

	if (c->http_url[0]) {
		n = (int)strlen(c->http_url);
		while (n > 0 && c->http_url[n - 1] == '/')
			n--;
		return arena_printf(&q->arena, "%.*s/ui/#login=%s", n,
				    c->http_url, code);
	}
	if (n == 0 || !strncmp(listen, "0.0.0.0:", 8) ||
	    !strncmp(listen, "[::]:", 5)) {
		listen = "127.0.0.1";
		n = (int)strlen(listen);
	}
	return arena_printf(&q->arena, "http://%.*s:%d/ui/#login=%s", n, listen,
			    port, code);
}

static int read_code(struct api_request *q, struct buf *out, struct err *e)
{
	struct api_login_code made = {q->id, q->from, q->key};

	(void)e;
	json_add_shape(out, &api_login_code_shape, &made);
	return 0;
}

void route_login_code(struct api_request *q, const struct login_code_body *body)
{
	char code[HTTP_TOKEN_SIZE], hash[HASH_HEX];
	struct supervisor_login login = {body->name, hash, body->scopes,
					 body->lifetime_ms, q->by};
	struct err e = {0};

	if (!http_server_port(q->api->server)) {
		err_set(&e, ERR_CONFLICT,
			"the dashboard is off: set http.listen in skep.json, "
			"for example to \"127.0.0.1:7411\", then run 'skep "
			"restart'");
		request_fail(q, &e);
		return;
	}
	http_token_new(code);
	http_token_hash(code, hash);
	q->from = arena_text(&q->arena, code);
	q->key = page_url(q, code);
	q->read = read_code;
	q->status = 201;
	request_command(
		q,
		supervisor_login_code(q->api->sup, &login, request_done(q), &e),
		&e);
}

static int write_login(struct api_request *q, struct buf *out, struct err *e)
{
	struct login_item row;
	int found = sql_get(q->db, Q_LOGIN_GET, &(struct login_get_in){q->id},
			    &row, &q->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no login %s",
			       quoted(q->id).text);
	if (found > 0)
		json_add_shape(out, &login_item_shape, &row);
	return found < 0 ? -1 : 0;
}

/* After the commit: sets the cookie q->from. */
static int read_opened(struct api_request *q, struct buf *out, struct err *e)
{
	if (write_login(q, out, e))
		return -1;
	if (q->reply)
		http_reply_header(
			q->reply, "Set-Cookie",
			arena_printf(&q->arena,
				     "%s=%s; Path=/; HttpOnly; "
				     "SameSite=Strict; Max-Age=31536000%s",
				     q->api->cookie, q->from,
				     q->flag ? "; Secure" : ""));
	return 0;
}

void route_login_open(struct api_request *q, const struct login_open_body *body)
{
	const char *secret = body->code ? body->code : body->token;
	const char *origin = http_header(q->http, "Origin");
	char cookie[HTTP_TOKEN_SIZE], hash[HASH_HEX], given[HASH_HEX];
	struct supervisor_sign_in in = {.cookie_hash = hash};
	struct err e = {0};

	if (!secret || (body->code && body->token)) {
		err_set(&e, ERR_INVALID, "either code or token is required");
		request_fail(q, &e);
		return;
	}
	http_token_hash(secret, given);
	http_token_new(cookie);
	http_token_hash(cookie, hash);
	if (body->code)
		in.code_hash = given;
	else
		in.token_hash = given;
	in.browser = http_header(q->http, "User-Agent");
	q->flag = origin && !strncmp(origin, "https://", 8);
	q->from = arena_text(&q->arena, cookie);
	q->read = read_opened;
	q->status = 201;
	request_command(
		q, supervisor_login_open(q->api->sup, &in, request_done(q), &e),
		&e);
}

static int read_logins(struct api_request *q, struct buf *out, struct err *e)
{
	return api_list(q, Q_LOGIN_LIST, &(struct login_list_in){clock_now()},
			out, e);
}

void route_logins(struct api_request *q)
{
	request_read(q, read_logins);
}

void route_login_end(struct api_request *q)
{
	struct err e = {0};

	request_command(q,
			supervisor_login_end(q->api->sup,
					     http_param(q->http, "id"), q->by,
					     request_done(q), &e),
			&e);
}

static bool is_login(const char *principal)
{
	return strncmp(principal, ID_PREFIX, strlen(ID_PREFIX)) == 0;
}

/* A token or the user of the unix socket has no login: only name and scopes. */
static void write_principal(struct api_request *q, struct buf *out)
{
	struct buf scopes = BUF_MAX(256);
	struct login_item row = {
		.name = q->key, .opened_at = OPT_NONE, .expires_at = OPT_NONE};

	json_begin_array(&scopes);
	for (int s = HTTP_SCOPE_READ; s < HTTP_SCOPES; s++)
		if ((unsigned)q->limit & 1u << s)
			json_add_text(&scopes,
				      http_scope_name((enum http_scope)s));
	json_end_array(&scopes);
	row.scopes = scopes.p;
	json_add_shape(out, &login_item_shape, &row);
	buf_fini(&scopes);
}

static int read_login(struct api_request *q, struct buf *out, struct err *e)
{
	if (q->id)
		return write_login(q, out, e);
	write_principal(q, out);
	return 0;
}

void route_login_show(struct api_request *q)
{
	const struct http_principal *who = http_principal(q->http);

	q->key = arena_text(&q->arena, who->name);
	q->limit = who->scopes;
	q->id = is_login(who->name) ? q->key : NULL;
	request_read(q, read_login);
}

void route_login_leave(struct api_request *q)
{
	const char *name = http_principal(q->http)->name;
	struct err e = {0};

	if (!is_login(name)) {
		err_set(&e, ERR_USAGE,
			"this request has a token; 'skep token rm' revokes it");
		request_fail(q, &e);
		return;
	}
	http_reply_header(q->reply, "Set-Cookie",
			  arena_printf(&q->arena,
				       "%s=; Path=/; HttpOnly; "
				       "SameSite=Strict; Max-Age=0",
				       q->api->cookie));
	request_command(q,
			supervisor_login_end(q->api->sup, name, q->by,
					     request_done(q), &e),
			&e);
}
