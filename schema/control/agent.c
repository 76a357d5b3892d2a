#include "schema/control/agent.h"

#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/suggest.h"
#include "lib/base/text.h"
#include "schema/control/control.h"

#include <string.h>

#define DEFINITION_BYTES (4u * AGENT_TEXT_MAX)
#define NAMES_MAX        1000 /* candidates for suggestions */

int agents_missing(struct sql *db, const char *name, struct err *e)
{
	struct agent_name_list_in in = {.count = NAMES_MAX};
	struct agent_name_list_row *rows;
	struct suggestion near;
	struct arena a = {0};
	struct err ignored;
	const char *meant;
	int n = sql_collect(db, Q_AGENT_NAME_LIST, &in, NAMES_MAX, &rows, &a,
			    &ignored);

	suggest_begin(&near, name);
	for (int i = 0; i < n; i++)
		suggest_candidate(&near, rows[i].name);
	meant = suggest_end(&near);
	if (meant)
		err_set(e, ERR_NOTFOUND,
			"there is no agent '%s'; did you mean '%s'?",
			quoted(name).text, meant);
	else
		err_set(e, ERR_NOTFOUND, "there is no agent '%s'",
			quoted(name).text);
	arena_fini(&a);
	return -1;
}

int agents_get(struct sql *db, const char *name, struct agent_row *row,
	       struct arena *a, struct err *e)
{
	int found = sql_get(db, Q_AGENT_GET,
			    &(struct agent_get_in){.name = name}, row, a, e);

	if (found < 0)
		return -1;
	return found ? 0 : agents_missing(db, name, e);
}

static int no_default(struct sql *db, struct arena *a, struct err *e)
{
	struct agent_list_in in = {.after = "", .count = 1};
	struct agent_row *rows;
	int n = sql_collect(db, Q_AGENT_LIST, &in, 1, &rows, a, e);

	if (n < 0)
		return -1;
	if (n == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there are no agents; 'skep init' or 'skep "
			       "agent add AGENT' defines one");
	return err_set(e, ERR_NOTFOUND,
		       "there is no default agent; name an agent of 'skep "
		       "agent ls', or choose a default with 'skep agent set %s "
		       "--default'",
		       rows[0].name);
}

int agents_get_default(struct sql *db, struct agent_row *row, struct arena *a,
		       struct err *e)
{
	int found = sql_get(db, Q_AGENT_GET_DEFAULT, NULL, row, a, e);

	if (found < 0)
		return -1;
	return found ? 0 : no_default(db, a, e);
}

static int add_version(struct sql *db, const struct agent_row *row,
		       const char *definition, struct err *e)
{
	struct agent_version_row v = {.agent = row->name,
				      .version = row->version,
				      .definition = definition,
				      .digest = row->digest,
				      .source = row->source,
				      .created_at = row->updated_at};

	return sql_exec(db, Q_AGENT_VERSION_ADD, &v, e) < 0 ? -1 : 0;
}

static int audit_put(struct sql *db, const struct agent_row *row, bool is_new,
		     struct err *e)
{
	struct buf detail = BUF_MAX(1024);
	int rc;

	json_begin_object(&detail);
	json_put_int(&detail, "version", row->version);
	json_put_text(&detail, "digest", row->digest);
	json_put_text(&detail, "source", row->source);
	json_end_object(&detail);
	rc = control_audit(db, NULL, is_new ? "agent.add" : "agent.set",
			   row->name, detail.p, e);
	buf_fini(&detail);
	return rc;
}

/* Only one agent is the default: the one that requests it, or the first one. */
static int choose_default(struct sql *db, struct agent_row *row, bool is_new,
			  struct err *e)
{
	struct arena a = {0};
	struct agent_row other;
	int found = 1;

	if (is_new && !row->is_default) {
		found = sql_get(db, Q_AGENT_GET_DEFAULT, NULL, &other, &a, e);
		row->is_default = found == 0;
		arena_fini(&a);
	}
	if (found < 0)
		return -1;
	if (row->is_default && sql_exec(db, Q_AGENT_CLEAR_DEFAULT, NULL, e) < 0)
		return -1;
	return 0;
}

static int put_agent(struct sql *db, struct agent_row *row,
		     const char *definition, struct arena *a, struct err *e)
{
	struct agent_version_last_row last;
	struct agent_row old = {.name = NULL};
	int found = sql_get(db, Q_AGENT_GET,
			    &(struct agent_get_in){.name = row->name}, &old, a,
			    e);

	if (found < 0 ||
	    sql_get(db, Q_AGENT_VERSION_LAST,
		    &(struct agent_version_last_in){.agent = row->name}, &last,
		    NULL, e) < 0)
		return -1;
	row->version = last.version + 1;
	row->updated_at = clock_now();
	row->created_at = found ? old.created_at : row->updated_at;
	row->is_default = row->is_default || old.is_default;
	if (choose_default(db, row, !found, e) ||
	    sql_exec(db, Q_AGENT_PUT, row, e) < 0 ||
	    add_version(db, row, definition, e) ||
	    audit_put(db, row, !found, e))
		return -1;
	return 1;
}

/* Reads before it takes the write lock: usually nothing has changed. A
 * concurrent process writes the same, or its own version. */
static int is_stored(struct sql *db, struct agent_row *row, struct arena *a,
		     struct err *e)
{
	struct agent_row old;
	int found = sql_get(db, Q_AGENT_GET,
			    &(struct agent_get_in){.name = row->name}, &old, a,
			    e);

	if (found <= 0 || strcmp(old.digest, row->digest) != 0)
		return found < 0 ? -1 : 0;
	old.is_default = old.is_default || row->is_default;
	*row = old;
	return 1;
}

int agents_put(struct sql *db, struct agent_row *row, struct arena *a,
	       struct err *e)
{
	struct buf definition = BUF_MAX(DEFINITION_BYTES);
	char *digest = arena_alloc(a, HASH_HEX);
	int rc = -1;

	agent_to_json(row, &definition);
	hash_of(definition.p, definition.n, digest);
	row->digest = digest;
	if (!text_check_name("agent", row->name, e) &&
	    !buf_ok(&definition, "the definition", e))
		rc = is_stored(db, row, a, e);
	if (rc == 0)
		rc = control_enter_alone(db, e)
			     ? -1
			     : sql_leave(db,
					 put_agent(db, row, definition.p, a, e),
					 e);
	else if (rc > 0)
		rc = row->is_default ? agents_set_default(db, row->name, e) : 0;
	buf_fini(&definition);
	return rc;
}

static int set_default(struct sql *db, struct agent_row *row, struct err *e)
{
	row->is_default = true;
	if (sql_exec(db, Q_AGENT_CLEAR_DEFAULT, NULL, e) < 0 ||
	    sql_exec(db, Q_AGENT_PUT, row, e) < 0)
		return -1;
	return control_audit(db, NULL, "agent.default", row->name, NULL, e);
}

int agents_set_default(struct sql *db, const char *name, struct err *e)
{
	struct agent_row row;
	struct arena a = {0};
	int rc = agents_get(db, name, &row, &a, e);

	if (!rc && !row.is_default)
		rc = control_enter_alone(db, e)
			     ? -1
			     : sql_leave(db, set_default(db, &row, e), e);
	arena_fini(&a);
	return rc;
}

static int remove_row(struct sql *db, const char *name, struct err *e)
{
	if (sql_exec(db, Q_HELD_REMOVE, &(struct held_remove_in){name, 0}, e) <
		    0 ||
	    sql_exec(db, Q_AGENT_DELETE,
		     &(struct agent_delete_in){.name = name}, e) < 0)
		return -1;
	return control_audit(db, NULL, "agent.rm", name, NULL, e);
}

/* Checks first: inside a transaction of the caller, a failure must not roll it
 * back. */
int agents_remove(struct sql *db, const char *name, struct err *e)
{
	struct agent_row row;
	struct arena a = {0};
	int rc = agents_get(db, name, &row, &a, e);

	arena_fini(&a);
	if (rc || control_enter_alone(db, e))
		return -1;
	return sql_leave(db, remove_row(db, name, e), e);
}
