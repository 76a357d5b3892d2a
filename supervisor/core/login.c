#include "supervisor/core/login.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "lib/base/text.h"
#include "schema/control/control.h"
#include "supervisor/core/supervisor.h"

static int put_login(struct supervisor *s, const struct login_row *row,
		     const char *by, const char *act, struct err *e)
{
	struct login_trim_in trim = {row->created_at, LOGIN_MAX - 1};

	return sql_exec(s->db, Q_LOGIN_TRIM, &trim, e) < 0 ||
			       sql_exec(s->db, Q_LOGIN_PUT, row, e) < 0 ||
			       control_audit(s->db, by, act, row->id, NULL, e)
		       ? -1
		       : 0;
}

static int add_code(struct supervisor *s, const struct supervisor_login *l,
		    struct completion done, struct err *e)
{
	struct id id = id_new(ID_LOGIN);
	int64_t now = clock_now();
	struct login_row row = {
		.id = id.text,
		.name = l->name,
		.hash = l->hash,
		.scopes = l->scopes,
		.lifetime_ms = l->lifetime_ms ? l->lifetime_ms
					      : LOGIN_LIFETIME_MS,
		.created_at = now,
		.opened_at = OPT_NONE,
		.expires_at = now + LOGIN_CODE_MS,
	};

	if (txn_begin(&s->txn, e) || put_login(s, &row, l->by, "login.code", e))
		return -1;
	complete_later(s, done, id.text, true, NULL);
	return 0;
}

int supervisor_login_code(struct supervisor *s,
			  const struct supervisor_login *l,
			  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, add_code(s, l, done, e), e);
}

/* Exchanges a code: 1, 0 if it is unknown, used or expired, or -1. */
static int use_code(struct supervisor *s, const struct supervisor_sign_in *in,
		    struct id *id, struct err *e)
{
	int64_t now = clock_now();
	struct login_by_hash_in key = {in->code_hash, false, now};
	struct login_open_in change = {
		.hash = in->cookie_hash, .browser = in->browser, .now = now};
	struct login_row row;
	struct arena a = {0};
	int n = sql_get(s->db, Q_LOGIN_BY_HASH, &key, &row, &a, e);

	if (n > 0) {
		text_printf(id->text, sizeof id->text, "%s", row.id);
		change.id = id->text;
		n = sql_exec(s->db, Q_LOGIN_OPEN, &change, e);
	}
	arena_fini(&a);
	return n;
}

/* The same with a token. The login ends with the token. */
static int use_token(struct supervisor *s, const struct supervisor_sign_in *in,
		     struct id *id, struct err *e)
{
	int64_t now = clock_now();
	struct api_token_find_in key = {in->token_hash, now};
	struct api_token_row token;
	struct arena a = {0};
	int n = sql_get(s->db, Q_API_TOKEN_FIND, &key, &token, &a, e);

	if (n > 0) {
		int64_t end = now + LOGIN_LIFETIME_MS;
		struct login_row row = {
			.id = id->text,
			.name = token.name,
			.hash = in->cookie_hash,
			.is_open = true,
			.scopes = token.scopes,
			.token = token.hash,
			.browser = in->browser,
			.lifetime_ms = LOGIN_LIFETIME_MS,
			.created_at = now,
			.opened_at = now,
			.expires_at = token.expires_at != OPT_NONE &&
						      token.expires_at < end
					      ? token.expires_at
					      : end,
		};

		*id = id_new(ID_LOGIN);
		n = put_login(s, &row, token.name, "login.token", e) ? -1 : 1;
	}
	arena_fini(&a);
	return n;
}

static int open_login(struct supervisor *s, const struct supervisor_sign_in *in,
		      struct completion done, struct err *e)
{
	struct id id = {""};
	int n = txn_begin(&s->txn, e) ? -1
		: in->code_hash       ? use_code(s, in, &id, e)
				      : use_token(s, in, &id, e);

	if (n == 0)
		return err_set(
			e, ERR_UNAUTHORIZED,
			in->code_hash ? "the code is unknown, used or expired; "
					"'skep ui' makes a new one"
				      : "the token is unknown or expired");
	if (n < 0)
		return -1;
	complete_later(s, done, id.text, true, NULL);
	return 0;
}

int supervisor_login_open(struct supervisor *s,
			  const struct supervisor_sign_in *in,
			  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, open_login(s, in, done, e), e);
}

static int end_login(struct supervisor *s, const char *id, const char *by,
		     struct completion done, struct err *e)
{
	struct login_delete_in key = {id};
	int n = txn_begin(&s->txn, e)
			? -1
			: sql_exec(s->db, Q_LOGIN_DELETE, &key, e);

	if (n == 0)
		return err_set(e, ERR_NOTFOUND, "there is no login %s",
			       quoted(id).text);
	if (n < 0 || control_audit(s->db, by, "login.end", id, NULL, e))
		return -1;
	complete_later(s, done, id, true, NULL);
	return 0;
}

int supervisor_login_end(struct supervisor *s, const char *id, const char *by,
			 struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, end_login(s, id, by, done, e), e);
}
