/* What came with an imported agent, and acts only after a user confirms it. */
#include "supervisor/channel/commands.h"
#include "supervisor/channel/internal.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/control/control.h"

#include <string.h>

static int confirm_binding(struct supervisor *s, const struct held_row *row,
			   const char *by, struct err *e)
{
	cJSON *v = json_parse_object("binding", row->body, strlen(row->body),
				     e);
	struct binding_row b = {
		.channel = json_text(v, "channel", ""),
		.peer = json_text(v, "peer", "*"),
		.kind = json_text(v, "kind", "any"),
		.agent = row->agent,
		.session = json_text(v, "session", NULL),
		.session_per = json_text(v, "session_per", "conversation")};
	int rc = v ? channel_bind(s, &b, by, e) : -1;

	cJSON_Delete(v);
	return rc;
}

/* One row per kind of what an archive may bring. */
static const struct {
	const char *kind;
	int (*confirm)(struct supervisor *s, const struct held_row *row,
		       const char *by, struct err *e);
} kinds[] = {
	{"binding", confirm_binding},
};

static int confirm_row(struct supervisor *s, const struct held_row *row,
		       const char *by, struct err *e)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (!strcmp(kinds[i].kind, row->kind))
			return kinds[i].confirm(s, row, by, e);
	return err_set(e, ERR_UNSUPPORTED,
		       "this skep cannot put a %s into effect; --discard "
		       "deletes it",
		       row->kind);
}

static int confirm_rows(struct supervisor *s, const struct held_choice *c,
			struct arena *a, int *count, struct err *e)
{
	struct held_list_in key = {c->agent, c->number};
	struct held_remove_in gone = {c->agent, c->number};
	struct held_row *rows;

	*count = sql_collect(s->db, Q_HELD_LIST, &key, INT32_MAX, &rows, a, e);
	if (*count == 0)
		return err_set(e, ERR_NOTFOUND,
			       c->number ? "agent %s holds no such thing"
					 : "agent %s holds nothing",
			       quoted(c->agent).text);
	for (int i = 0; !c->discard && i < *count; i++)
		if (confirm_row(s, &rows[i], c->by, e))
			return -1;
	return *count < 0 || sql_exec(s->db, Q_HELD_REMOVE, &gone, e) < 0 ? -1
									  : 0;
}

static int confirm(struct supervisor *s, const struct held_choice *c,
		   struct arena *a, struct completion done, struct err *e)
{
	char note[64];
	int n;

	if (text_check_name("agent", c->agent, e) || txn_begin(&s->txn, e) ||
	    confirm_rows(s, c, a, &n, e) ||
	    control_audit(s->db, c->by,
			  c->discard ? "agent.discard" : "agent.confirm",
			  c->agent, NULL, e))
		return -1;
	text_printf(note, sizeof note, "%d %s", n,
		    c->discard ? "discarded" : "confirmed");
	complete_later(s, done, c->agent, true, note);
	return 0;
}

int supervisor_held_confirm(struct supervisor *s, const struct held_choice *c,
			    struct completion done, struct err *e)
{
	struct arena a = {0};
	int rc;

	txn_try_begin(&s->txn);
	rc = txn_try_end(&s->txn, confirm(s, c, &a, done, e), e);
	arena_fini(&a);
	return rc;
}
