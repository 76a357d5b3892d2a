#include "schema/control/agent_bundle.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "schema/agent/agent_file.h"
#include "schema/control/agent.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"
#include "schema/control/schedule_bundle.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VERSIONS_MAX 1000000
#define BINDINGS_MAX 100000
#define LEFT_OVER    "replaced" /* in the directory of the next import */

/* --- writing ---------------------------------------------------------- */

static int add_versions(struct sql *db, const char *name, struct buf *out,
			struct err *e)
{
	struct agent_version_list_in key = {name};
	struct agent_version_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_AGENT_VERSION_LIST, &key, VERSIONS_MAX, &rows,
			    &a, e);

	json_put_array(out, "versions");
	for (int i = n - 1; i >= 0; i--) {
		json_begin_object(out);
		json_put_int(out, "version", rows[i].version);
		json_put_stored(out, "definition", rows[i].definition);
		json_put_text(out, "digest", rows[i].digest);
		json_put_text(out, "source", rows[i].source);
		json_put_int(out, "created_at", rows[i].created_at);
		json_end_object(out);
	}
	json_end_array(out);
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

static int add_bindings(struct sql *db, const char *name, struct buf *out,
			struct err *e)
{
	struct binding_of_agent_in key = {name};
	struct binding_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_BINDING_OF_AGENT, &key, BINDINGS_MAX, &rows,
			    &a, e);

	json_put_array(out, "bindings");
	for (int i = 0; i < n; i++) {
		json_begin_object(out);
		json_put_text(out, "channel", rows[i].channel);
		json_put_text(out, "peer", rows[i].peer);
		json_put_text(out, "kind", rows[i].kind);
		json_put_text(out, "session", rows[i].session);
		json_put_text(out, "session_per", rows[i].session_per);
		json_end_object(out);
	}
	json_end_array(out);
	arena_fini(&a);
	return n < 0 ? -1 : 0;
}

int agent_bundle_write(struct sql *db, const struct home *home,
		       const char *name, struct buf *out, struct err *e)
{
	struct buf definition = BUF_MAX(4u * AGENT_TEXT_MAX);
	struct arena a = {0};
	struct agent_row row;
	int rc = agents_get(db, name, &row, &a, e);

	if (rc == 0 && agent_read_files(home, name, &row, &a, e) < 0)
		rc = -1;
	if (rc == 0) {
		agent_to_json(&row, &definition);
		rc = buf_ok(&definition, "the definition", e);
	}
	if (rc == 0) {
		json_begin_object(out);
		json_put_int(out, "format", AGENT_BUNDLE_FORMAT);
		json_put_text(out, "name", row.name);
		json_put_int(out, "created_at", row.created_at);
		json_put_raw(out, "definition", definition.p);
		rc = add_versions(db, name, out, e) ||
				     add_bindings(db, name, out, e) ||
				     schedule_bundle_write(db, name, out, e)
			     ? -1
			     : 0;
		json_end_object(out);
	}
	buf_fini(&definition);
	arena_fini(&a);
	return rc ? -1 : buf_ok(out, "the exported agent", e);
}

/* --- reading ---------------------------------------------------------- */

cJSON *agent_bundle_parse(const char *what, const char *text, size_t n,
			  struct err *e)
{
	cJSON *v = json_parse_object(what, text, n, e);
	int64_t format = json_i64(v, "format", 0);

	if (!v)
		return NULL;
	if (format > AGENT_BUNDLE_FORMAT)
		err_set(e, ERR_VERSION,
			"%s was written by a newer version of skep", what);
	else if (format < 1 || !json_text(v, "name", NULL) ||
		 !cJSON_IsObject(json_member(v, "definition")) ||
		 !cJSON_IsArray(json_member(v, "versions")) ||
		 !cJSON_IsArray(json_member(v, "bindings")))
		err_set(e, ERR_INVALID, "%s is not an exported agent", what);
	else
		return v;
	cJSON_Delete(v);
	return NULL;
}

static void add_once(cJSON *list, const char *name)
{
	const cJSON *m;

	if (!name)
		return;
	cJSON_ArrayForEach(m, list)
	{
		if (strcmp(m->valuestring, name) == 0)
			return;
	}
	cJSON_AddItemToArray(list, cJSON_CreateString(name));
}

static void add_secret(const cJSON *m, cJSON *files, cJSON *vars)
{
	const char *text = cJSON_GetStringValue(m);
	const cJSON *name;

	if (!m->string)
		return;
	if (!strcmp(m->string, "key_file") || !strcmp(m->string, "file"))
		add_once(files, text);
	else if (!strcmp(m->string, "key_env") || !strcmp(m->string, "env"))
		add_once(vars, text);
	else if (!strcmp(m->string, "pass"))
		cJSON_ArrayForEach(name, m)
			add_once(vars, cJSON_GetStringValue(name));
}

struct pending {
	const cJSON *value;
};

void agent_bundle_secrets(const cJSON *definition, cJSON *files, cJSON *vars)
{
	struct buf queue = BUF_MAX((size_t)64 << 20);
	struct pending next = {definition};
	const cJSON *m;

	buf_add(&queue, &next, sizeof next);
	while (queue.n) {
		memcpy(&next, queue.p, sizeof next);
		buf_drop(&queue, sizeof next);
		cJSON_ArrayForEach(m, next.value)
		{
			add_secret(m, files, vars);
			if (cJSON_IsObject(m) || cJSON_IsArray(m))
				buf_add(&queue, &(struct pending){m},
					sizeof next);
		}
	}
	buf_fini(&queue);
}

/* --- importing -------------------------------------------------------- */

static struct home_path place_of(const struct home *home, const char *name)
{
	return home_join(home, HOME_AGENTS, name);
}

bool agent_bundle_is_left(const struct home *home, const char *name)
{
	char path[PATH_MAX];
	struct home_path place = place_of(home, name);

	return (size_t)snprintf(path, sizeof path, "%s/" AGENT_BUNDLE_FILE,
				place.text) < sizeof path &&
	       file_exists(path);
}

int agent_bundle_check_name(struct sql *db, const struct home *home,
			    const char *name, struct err *e)
{
	struct home_path place = place_of(home, name);
	struct agent_database_row file;
	struct arena a = {0};
	struct agent_row row;
	int found;

	if (text_check_name("agent", name, e))
		return -1;
	found = sql_get(db, Q_AGENT_GET, &(struct agent_get_in){name}, &row, &a,
			e);
	if (found == 0)
		found = registry_find(db, name, &file, &a, e);
	arena_fini(&a);
	if (found < 0)
		return -1;
	if (found > 0)
		return err_set(e, ERR_CONFLICT,
			       "there is an agent '%s', or data of one; "
			       "import it under another name with --name",
			       name);
	if (file_exists(place.text) && !agent_bundle_is_left(home, name))
		return err_set(e, ERR_CONFLICT,
			       "%s already exists; delete it, or import under "
			       "another name with --name",
			       place.text);
	return 0;
}

/* The versions of the original, with their numbers, unless this home has some of
 * an agent that was deleted. */
static int insert_versions(struct sql *db, const char *name, const cJSON *list,
			   struct err *e)
{
	struct agent_version_last_row last;
	const cJSON *v;

	if (sql_get(db, Q_AGENT_VERSION_LAST,
		    &(struct agent_version_last_in){name}, &last, NULL, e) < 0)
		return -1;
	if (last.version)
		return 0;
	cJSON_ArrayForEach(v, list)
	{
		struct buf text = BUF_MAX(4u * AGENT_TEXT_MAX);
		struct agent_version_row row = {
			.agent = name,
			.version = json_i64(v, "version", 0),
			.digest = json_text(v, "digest", ""),
			.source = json_text(v, "source", "command"),
			.created_at = json_i64(v, "created_at", 0),
		};
		int rc;

		json_add(&text, json_member(v, "definition"));
		row.definition = text.p;
		rc = buf_ok(&text, "a version of the definition", e);
		if (rc == 0)
			rc = sql_exec(db, Q_AGENT_VERSION_ADD, &row, e);
		buf_fini(&text);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* Uses the newest imported version if it is this definition. */
static int put_definition(struct sql *db, struct agent_row *row,
			  const cJSON *bundle, struct arena *a, struct err *e)
{
	const cJSON *list = json_member(bundle, "versions");
	const cJSON *newest = cJSON_GetArrayItem(list,
						 cJSON_GetArraySize(list) - 1);
	struct agent_version_last_row last;
	struct buf text = BUF_MAX(4u * AGENT_TEXT_MAX);
	char digest[HASH_HEX];

	if (sql_get(db, Q_AGENT_VERSION_LAST,
		    &(struct agent_version_last_in){row->name}, &last, NULL,
		    e) < 0)
		return -1;
	agent_to_json(row, &text);
	hash_of(text.p, text.n, digest);
	buf_fini(&text);
	if (!newest || last.version != json_i64(newest, "version", -1) ||
	    strcmp(digest, json_text(newest, "digest", "")) != 0)
		return agents_put(db, row, a, e) < 0 ? -1 : 0;
	row->version = last.version;
	row->digest = arena_text(a, digest);
	row->created_at = json_i64(bundle, "created_at", clock_now());
	row->updated_at = json_i64(newest, "created_at", clock_now());
	return sql_exec(db, Q_AGENT_PUT, row, e) < 0 ? -1 : 0;
}

/* Each waits until a user confirms it: the original may still be in use. An
 * archive without the list was written by a program that did not know it. */
static int hold(struct sql *db, const char *name, const char *kind,
		const cJSON *list, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		struct buf body = BUF_MAX(AGENT_BUNDLE_MAX);
		struct held_add_in in = {
			.agent = name, .kind = kind, .now = clock_now()};
		int rc;

		json_add(&body, v);
		in.body = body.p;
		rc = buf_ok(&body, kind, e);
		if (rc == 0)
			rc = sql_exec(db, Q_HELD_ADD, &in, e);
		buf_fini(&body);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int insert_rows(struct sql *db, const struct home *home,
		       const char *name, const cJSON *bundle, struct arena *a,
		       struct err *e)
{
	const cJSON *definition = json_member(bundle, "definition");
	struct agent_row row = {.name = name,
				.workspace = "disk",
				.is_enabled = true,
				.spec = "{}",
				.source = "command"};
	struct agent_database_row file = {
		.agent = name,
		.path = arena_text(a, registry_path(home, name).text),
		.schema_version = agent_schema.version,
		.created_at = clock_now(),
	};
	struct agent_file f;
	int rc;

	if (agent_from_json(&row, "the exported definition", definition, a,
			    e) ||
	    insert_versions(db, name, json_member(bundle, "versions"), e) ||
	    put_definition(db, &row, bundle, a, e) ||
	    schedule_bundle_insert(db, name, json_member(bundle, "schedules"),
				   clock_now(), e) ||
	    hold(db, name, "binding", json_member(bundle, "bindings"), e) ||
	    control_audit(db, NULL, "agent.import", name, NULL, e))
		return -1;
	if (!file_exists(file.path)) /* the agent had no data */
		return 0;
	if (agent_file_open(&f, file.path, name, SQL_READONLY, e))
		return -1;
	rc = agent_file_epoch(&f, &file.epoch, e);
	agent_file_close(&f);
	return rc ? -1 : registry_seen(db, &file, e);
}

/* What a killed import left is moved into our directory, which replaces it. */
static int move_in(const struct home *home, const char *name, const char *dir,
		   struct err *e)
{
	struct home_path place = place_of(home, name);
	char old[PATH_MAX];

	if ((size_t)snprintf(old, sizeof old, "%s." LEFT_OVER, dir) >=
	    sizeof old)
		return err_set(e, ERR_LONGNAME, "%s is too long", dir);
	if (file_exists(place.text) && rename(place.text, old))
		return err_errno_set(e, "%s", place.text);
	if (rename(dir, place.text))
		return err_errno_set(e, "%s", place.text);
	if (file_sync_parent(place.text, e))
		return -1;
	return fault_point(FAULT_agent_moved, e);
}

static int import_rows(struct sql *db, const struct home *home,
		       const char *name, const char *dir, struct arena *a,
		       struct err *e)
{
	const char *path = arena_printf(a, "%s/" AGENT_BUNDLE_FILE, dir);
	struct buf text = BUF_MAX(AGENT_BUNDLE_MAX);
	cJSON *bundle = NULL;
	int rc = agent_bundle_check_name(db, home, name, e);

	if (rc == 0)
		rc = file_read(path, &text, e);
	if (rc == 0)
		bundle = agent_bundle_parse(path, text.p, text.n, e);
	if (bundle)
		rc = move_in(home, name, dir, e);
	if (bundle && rc == 0)
		rc = insert_rows(db, home, name, bundle, a, e);
	cJSON_Delete(bundle);
	buf_fini(&text);
	return bundle ? rc : -1;
}

int agent_bundle_import(struct sql *db, const struct home *home,
			const char *name, const char *dir, struct arena *a,
			struct err *e)
{
	int rc;

	if (control_enter_alone(db, e))
		return -1;
	rc = sql_leave(db, import_rows(db, home, name, dir, a, e), e);
	if (rc)
		agent_bundle_undo(home, name, dir);
	return rc;
}

void agent_bundle_undo(const struct home *home, const char *name,
		       const char *dir)
{
	struct home_path place = place_of(home, name);

	if (!file_exists(dir) && agent_bundle_is_left(home, name))
		(void)rename(place.text, dir);
}

void agent_bundle_done(const struct home *home, const char *name)
{
	char path[PATH_MAX];
	struct home_path place = place_of(home, name);

	if ((size_t)snprintf(path, sizeof path, "%s/" AGENT_BUNDLE_FILE,
			     place.text) < sizeof path)
		(void)unlink(path);
}
