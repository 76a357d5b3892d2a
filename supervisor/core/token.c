#include "supervisor/core/token.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "schema/control/control.h"
#include "supervisor/core/supervisor.h"

/* Tokens of the API. */

static int add_token(struct supervisor *s, const struct supervisor_token *t,
		     struct completion done, struct err *e)
{
	struct id id = id_new(ID_TOKEN);
	int64_t now = clock_now();
	struct api_token_row row = {
		.id = id.text,
		.name = t->name,
		.hash = t->hash,
		.scopes = t->scopes,
		.created_at = now,
		.expires_at = t->lifetime_ms ? now + t->lifetime_ms : OPT_NONE,
	};
	struct api_token_named_in key = {t->name};
	struct api_token_named_row known;
	int found;

	if (txn_begin(&s->txn, e))
		return -1;
	found = sql_get(s->db, Q_API_TOKEN_NAMED, &key, &known, NULL, e);
	if (found == 1 && known.n > 0)
		return err_set(e, ERR_CONFLICT, "token '%s' already exists",
			       t->name);
	if (found < 0 || sql_exec(s->db, Q_API_TOKEN_PUT, &row, e) < 0 ||
	    control_audit(s->db, t->by, "token.add", t->name, NULL, e))
		return -1;
	complete_later(s, done, id.text, true, NULL);
	return 0;
}

int supervisor_token_add(struct supervisor *s, const struct supervisor_token *t,
			 struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, add_token(s, t, done, e), e);
}

static int delete_token(struct supervisor *s, const char *name, const char *by,
			struct completion done, struct err *e)
{
	struct api_token_delete_in key = {name};
	int n;

	if (txn_begin(&s->txn, e))
		return -1;
	n = sql_exec(s->db, Q_API_TOKEN_DELETE, &key, e);
	if (n < 0)
		return -1;
	if (n == 0)
		return err_set(e, ERR_NOTFOUND, "there is no token '%s'", name);
	if (control_audit(s->db, by, "token.delete", name, NULL, e))
		return -1;
	complete_later(s, done, name, true, NULL);
	return 0;
}

int supervisor_token_delete(struct supervisor *s, const char *name,
			    const char *by, struct completion done,
			    struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, delete_token(s, name, by, done, e), e);
}
