#include "supervisor/core/agent_upgrade.h"
#include "supervisor/core/supervisor.h"

#include "lib/base/text.h"
#include "lib/db/migrate.h"
#include "lib/json/json.h"
#include "schema/agent/agent_file.h"
#include "schema/control/agent.h"
#include "schema/control/agent_delete.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"

#include <stdio.h>
#include <string.h>

/*
 * Agents. A definition in files is read whenever it is used, so that the next
 * run sees a change and the start does not have to read all files.
 */
static int log_agent_event(struct supervisor *s, const char *name,
			   const char *what, struct err *e)
{
	struct host_event_add_in in = {
		.kind = "agent", .subject = name, .agent = name};

	return supervisor_log_event(s, &in, "change", what, e);
}

int supervisor_agent_read(struct supervisor *s, const char *name,
			  struct agent_row *out, struct arena *a, struct err *e)
{
	struct agent_get_in key = {name};
	int changed;

	if (txn_begin(&s->txn, e))
		return -1;
	control_set_actor("skepd");
	changed = agents_sync(s->db, &s->home, name, e);
	if (changed < 0 ||
	    (changed == 1 && log_agent_event(s, name, "changed", e)))
		return -1;
	return sql_get(s->db, Q_AGENT_GET, &key, out, a, e);
}

int supervisor_agent_check(struct supervisor *s, const char *name,
			   struct err *e)
{
	struct agent_row row;
	struct arena a = {0};
	int found = supervisor_agent_read(s, name, &row, &a, e);

	arena_fini(&a);
	if (found == 0)
		return agents_missing(s->db, name, e);
	return found < 0 ? -1 : 0;
}

/* Members that the definition does not contain get their defaults. */
static int define_agent(struct supervisor *s, const char *name,
			const cJSON *def, struct arena *a, struct err *e)
{
	struct agent_row row = {.name = name,
				.workspace = "disk",
				.is_enabled = true,
				.spec = "{}",
				.source = "command"};
	struct agent_row old = {0};
	struct agent_text from = {.what = "the definition", .def = def};
	int changed;

	if (text_check_name("agent", name, e) ||
	    sql_get(s->db, Q_AGENT_GET, &(struct agent_get_in){name}, &old, a,
		    e) < 0 ||
	    agent_check_members(&from, &old, e) ||
	    agent_from_json(&row, "the definition", def, a, e))
		return -1;
	if (!row.driver)
		return err_set(e, ERR_INVALID,
			       "agent '%s' needs a driver, one of %s", name,
			       AGENT_DRIVERS);
	if (txn_begin(&s->txn, e))
		return -1;
	changed = agents_put(s->db, &row, a, e);
	if (changed == 1 &&
	    log_agent_event(s, name, row.version > 1 ? "changed" : "added", e))
		return -1;
	if (changed == 1)
		idle_evict_all(s, name);
	return changed < 0 ? -1 : 0;
}

static int put_agent(struct supervisor *s, const char *name,
		     const char *definition, const char *by,
		     struct completion done, struct err *e)
{
	struct arena a = {0};
	cJSON *def = json_parse_object("the definition", definition,
				       strlen(definition), e);
	int rc = -1;

	control_set_actor(by);
	if (def)
		rc = define_agent(s, name, def, &a, e);
	cJSON_Delete(def);
	arena_fini(&a);
	if (rc)
		return -1;
	complete_later(s, done, name, true, NULL);
	return 0;
}

int supervisor_agent_put(struct supervisor *s, const char *name,
			 const char *definition, const char *by,
			 struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, put_agent(s, name, definition, by, done, e),
			   e);
}

static int require_no_runs(struct supervisor *s, const char *name,
			   struct err *e)
{
	if (runs_release_agent(s, name))
		return 0;
	return err_set(e, ERR_CONFLICT,
		       "agent %s has active runs; wait until they end, or "
		       "cancel them",
		       quoted(name).text);
}

static int delete_agent(struct supervisor *s, const char *name, const char *by,
			struct completion done, struct err *e)
{
	control_set_actor(by);
	if (require_no_runs(s, name, e) || txn_begin(&s->txn, e) ||
	    agents_remove(s->db, name, e) ||
	    log_agent_event(s, name, "deleted", e))
		return -1;
	complete_later(s, done, name, true, NULL);
	return 0;
}

int supervisor_agent_delete(struct supervisor *s, const char *name,
			    const char *by, struct completion done,
			    struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, delete_agent(s, name, by, done, e), e);
}

struct agent_deletion {
	struct supervisor *sup;
	struct completion done;
	const char *agent, *path;
};

static void remove_files(void *arg, const struct err *failed)
{
	struct agent_deletion *p = arg;
	struct command_result r = {.failed = failed, .changed = true};
	struct err e;

	snprintf(r.id.text, sizeof r.id.text, "%s", p->agent);
	if (!failed && agent_delete_files(&p->sup->home, p->agent, p->path, &e))
		r.failed = &e;
	if (p->done.call)
		p->done.call(p->done.arg, &r);
}

static int delete_agent_and_files(struct supervisor *s, const char *name,
				  const char *by, struct completion done,
				  struct err *e)
{
	struct agent_deletion *p = txn_alloc(&s->txn, sizeof *p);

	control_set_actor(by);
	*p = (struct agent_deletion){
		.sup = s, .done = done, .agent = txn_text(&s->txn, name)};
	if (text_check_name("agent", name, e) || require_no_runs(s, name, e) ||
	    txn_begin(&s->txn, e) ||
	    agent_delete_rows(s->db, name, &p->path, &s->txn.arena, e) ||
	    log_agent_event(s, name, "deleted", e))
		return -1;
	txn_on_commit(&s->txn, remove_files, p);
	return 0;
}

int supervisor_agent_delete_all(struct supervisor *s, const char *name,
				const char *by, struct completion done,
				struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn,
			   delete_agent_and_files(s, name, by, done, e), e);
}

static int move_agent(struct supervisor *s, const char *name, const char *path,
		      const char *by, struct completion done, struct err *e)
{
	control_set_actor(by);
	if (!path || path[0] != '/')
		return err_set(e, ERR_INVALID,
			       "\"path\" must be the absolute path of the "
			       "database");
	if (text_check_name("agent", name, e) || require_no_runs(s, name, e) ||
	    txn_begin(&s->txn, e) || registry_move(s->db, name, path, e) ||
	    log_agent_event(s, name, "moved", e))
		return -1;
	complete_later(s, done, name, true, NULL);
	return 0;
}

int supervisor_agent_move(struct supervisor *s, const char *name,
			  const char *path, const char *by,
			  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, move_agent(s, name, path, by, done, e), e);
}

int supervisor_agent_database(struct supervisor *s, const char *name,
			      struct completion done,
			      struct agent_database_row *out, struct arena *a,
			      struct err *e)
{
	if (txn_begin(&s->txn, e) ||
	    registry_make(s->db, &s->home, name, out, a, e))
		return -1;
	return agent_upgrade(s, out, done, e);
}

static int make_agent_file(struct supervisor *s, const char *name,
			   struct completion done, struct err *e)
{
	struct agent_database_row file;
	struct agent_row row;
	struct arena a = {0};
	int found = text_check_name("agent", name, e)
			    ? -1
			    : supervisor_agent_read(s, name, &row, &a, e);

	if (found == 0)
		found = agents_missing(s->db, name, e);
	if (found > 0)
		found = supervisor_agent_database(s, name, done, &file, &a, e);
	arena_fini(&a);
	if (found == 0)
		complete_later(s, done, name, true, NULL);
	return found < 0 ? -1 : 0;
}

int supervisor_agent_file(struct supervisor *s, const char *name,
			  struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, make_agent_file(s, name, done, e), e);
}
