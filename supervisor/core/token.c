#include "supervisor/core/supervisor.h"

#include "lib/base/clock.h"
#include "lib/base/id.h"
#include "schema/control/control.h"

/* Tokens of the API. */

static int add_token(struct supervisor *s, const char *name, const char *hash,
		     const char *scopes, struct completion done, struct err *e)
{
	struct id id = id_new(ID_TOKEN);
	struct api_token_row row = {
		.id = id.text,
		.name = name,
		.hash = hash,
		.scopes = scopes,
		.created_at = clock_now(),
		.expires_at = OPT_NONE,
	};
	struct api_token_named_in key = {name};
	struct api_token_named_row known;
	int found;

	if (txn_begin(&s->txn, e))
		return -1;
	found = sql_get(s->db, Q_API_TOKEN_NAMED, &key, &known, NULL, e);
	if (found == 1 && known.n > 0)
		return err_set(e, ERR_CONFLICT, "token '%s' already exists",
			       name);
	if (found < 0 || sql_exec(s->db, Q_API_TOKEN_PUT, &row, e) < 0 ||
	    control_audit(s->db, "skepd", "token.add", name, NULL, e))
		return -1;
	complete_later(s, done, id.text, true, NULL);
	return 0;
}

int supervisor_token_add(struct supervisor *s, const char *name,
			 const char *hash, const char *scopes,
			 struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, add_token(s, name, hash, scopes, done, e),
			   e);
}

static int delete_token(struct supervisor *s, const char *name,
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
	if (control_audit(s->db, "skepd", "token.delete", name, NULL, e))
		return -1;
	complete_later(s, done, name, true, NULL);
	return 0;
}

int supervisor_token_delete(struct supervisor *s, const char *name,
			    struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, delete_token(s, name, done, e), e);
}
