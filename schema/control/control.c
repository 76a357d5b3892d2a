#include "schema/control/control.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "lib/os/process.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KV_KEY_MAX   512
#define KV_VALUE_MAX 65536

static struct process_identity mark_of(const struct supervisor_row *row)
{
	struct process_identity m = {.pid = row->pid,
				     .start_ticks = row->start_ticks};

	snprintf(m.boot_id, sizeof m.boot_id, "%s", row->boot_id);
	return m;
}

int control_supervisor(struct sql *db, struct supervisor_row *row,
		       struct arena *a, struct err *e)
{
	int found = sql_get(db, Q_SUPERVISOR_GET, NULL, row, a, e);
	struct process_identity m;
	struct err ignored;
	int64_t version = 0;

	/* an empty file has no table, and so no supervisor */
	if (found < 0 && e->code == ERR_INTERNAL &&
	    sql_script_i64(db, "PRAGMA user_version", &version, &ignored) ==
		    0 &&
	    version == 0)
		return 0;
	if (found <= 0)
		return found;
	m = mark_of(row);
	return process_is_alive(&m);
}

static bool is_self(const struct supervisor_row *row)
{
	struct process_identity self = process_self();

	return row->pid == self.pid && row->start_ticks == self.start_ticks &&
	       !strcmp(row->boot_id, self.boot_id);
}

/* Inside a transaction. *epoch: of the existing row, 0 if there is none. */
static int check_no_other(struct sql *db, int64_t *epoch, struct err *e)
{
	struct supervisor_row row = {.pid = 0};
	struct arena a = {0};
	int alive = control_supervisor(db, &row, &a, e),
	    rc = alive < 0 ? -1 : 0;

	*epoch = row.epoch;
	if (alive > 0 && !is_self(&row))
		rc = err_set(e, ERR_BUSY,
			     "a supervisor (skepd, pid %" PRId64
			     ") runs for this home",
			     row.pid);
	arena_fini(&a);
	return rc;
}

/* An older skepd continues with the tables that it knows until it is
 * stopped. */
static int not_under_another(struct sql *db, struct err *e)
{
	int64_t epoch;

	if (check_no_other(db, &epoch, e) == 0)
		return 0;
	return err_wrap(e, "the control plane has an older schema; stop "
			   "the supervisor with 'skep down' to migrate "
			   "it");
}

int control_open(struct sql **out, const struct home *home, unsigned flags,
		 struct err *e)
{
	struct home_path path = home_path(home, HOME_CONTROL_DB);
	struct db_schema schema = control_schema;

	schema.may_change = not_under_another;
	if (flags & SQL_CREATE && home_make(home, e))
		return -1;
	if (!(flags & SQL_CREATE) && !file_exists(path.text) && errno == EACCES)
		return err_set(e, ERR_DENIED,
			       "no permission to read the skep home at %s; "
			       "its owner is another user",
			       home->root);
	if (!(flags & SQL_CREATE) && !file_exists(path.text))
		return err_set(e, ERR_NOTFOUND,
			       "there is no skep home at %s; 'skep init' "
			       "creates one",
			       home->root);
	if (!(flags & SQL_CREATE) && file_size(path.text) == 0)
		return err_set(e, ERR_CORRUPT,
			       "%s is empty; restore it from a backup if it "
			       "had data, otherwise 'skep up' recreates it",
			       path.text);
	return db_open(out, path.text, &schema, flags | SQL_FULL, e);
}

static int take_lock(struct sql *db, const char *program, int64_t *epoch,
		     struct err *e)
{
	struct process_identity self = process_self();
	struct supervisor_row row = {.pid = self.pid,
				     .start_ticks = self.start_ticks,
				     .boot_id = self.boot_id,
				     .program = program,
				     .since = clock_now()};

	if (check_no_other(db, epoch, e))
		return -1;
	row.epoch = ++*epoch;
	return sql_exec(db, Q_SUPERVISOR_PUT, &row, e) < 0 ? -1 : 0;
}

int control_lock(struct sql *db, const char *program, int64_t *epoch,
		 struct err *e)
{
	if (sql_enter(db, e))
		return -1;
	return sql_leave(db, take_lock(db, program, epoch, e), e);
}

int control_unlock(struct sql *db, struct err *e)
{
	struct process_identity self = process_self();
	struct supervisor_clear_in in = {.pid = self.pid,
					 .start_ticks = self.start_ticks};

	if (sql_enter(db, e))
		return -1;
	return sql_leave(
		db, sql_exec(db, Q_SUPERVISOR_CLEAR, &in, e) < 0 ? -1 : 0, e);
}

int control_enter_alone(struct sql *db, struct err *e)
{
	int64_t epoch;

	if (sql_enter(db, e))
		return -1;
	if (check_no_other(db, &epoch, e))
		return sql_leave(db, -1, e);
	return 0;
}

static char actor_name[128];

void control_set_actor(const char *actor)
{
	snprintf(actor_name, sizeof actor_name, "%s", actor ? actor : "");
}

const char *control_actor(void)
{
	const struct passwd *pw = *actor_name ? NULL : getpwuid(geteuid());

	if (!*actor_name && pw)
		snprintf(actor_name, sizeof actor_name, "cli:%s", pw->pw_name);
	else if (!*actor_name)
		snprintf(actor_name, sizeof actor_name, "cli:%u", geteuid());
	return actor_name;
}

int control_audit(struct sql *db, const char *actor, const char *act,
		  const char *subject, const char *detail, struct err *e)
{
	struct audit_add_in in = {.at = clock_now(),
				  .actor = actor ? actor : control_actor(),
				  .act = act,
				  .subject = subject,
				  .detail = detail ? detail : "{}"};

	return sql_exec(db, Q_AUDIT_ADD, &in, e) < 0 ? -1 : 0;
}

int control_import(struct sql *db, const struct import_run_row *row,
		   struct err *e)
{
	struct import_run_left_in left = {row->id, row->source, clock_now()};

	if (sql_exec(db, Q_IMPORT_RUN_PUT, row, e) < 0)
		return -1;
	if (row->ended_at != OPT_NONE)
		return control_audit(db, NULL, "import.apply", row->id, NULL,
				     e);
	return sql_exec(db, Q_IMPORT_RUN_LEFT, &left, e) < 0 ? -1 : 0;
}

int control_kv_get(struct sql *db, const char *scope, const char *key,
		   struct arena *a, const char **value, struct err *e)
{
	struct kv_get_in in = {.scope = scope, .key = key, .now = clock_now()};
	struct kv_get_row row;
	int found = sql_get(db, Q_KV_GET, &in, &row, a, e);

	if (found > 0)
		*value = row.value;
	return found;
}

int control_kv_put(struct sql *db, const char *scope, const char *key,
		   const char *value, int64_t expires_at, struct err *e)
{
	struct kv_put_in put = {.scope = scope,
				.key = key,
				.value = value,
				.expires_at = expires_at,
				.now = clock_now()};
	struct kv_delete_in gone = {.scope = scope, .key = key};

	if (text_check_key("scope", scope, KV_KEY_MAX, e) ||
	    text_check_key("key", key, KV_KEY_MAX, e))
		return -1;
	if (value && strlen(value) > KV_VALUE_MAX)
		return err_set(e, ERR_TOOBIG,
			       "the value of '%s' has %zu bytes; small values "
			       "have at most %d, larger ones are artifacts",
			       quoted(key).text, strlen(value), KV_VALUE_MAX);
	if ((value ? sql_exec(db, Q_KV_PUT, &put, e)
		   : sql_exec(db, Q_KV_DELETE, &gone, e)) < 0)
		return -1;
	return 0;
}
