#include "supervisor/sup.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "db/migrate.h"
#include "schema/agent_file.h"

#include <string.h>

/*
 * Agents: a row each, and every definition that one ever had. An agent whose
 * definition is in files (agents/NAME/agent.json, prompt.md) has them read
 * again whenever it is used, so that an edit is seen by the next run and
 * nothing has to be scanned at start.
 */
#define DEFINITION_MAX (1u << 20)
#define PROMPT_MAX     (4u << 20)

struct definition {
	cJSON *json; /* the whole */
	const char *prompt;
	const char *source; /* 'file' or 'command' */
	char digest[HASH_HEX];
};

/* Columns that a definition gives; the rest of it is the spec. */
static const char *const columns[] = {"driver", "workspace", "model",
				      "prompt", "default",   "enabled"};

static char *spec_text(const struct definition *d, struct arena *a)
{
	struct buf b = BUF_MAX(DEFINITION_MAX * 2);
	cJSON *rest = cJSON_Duplicate(d->json, true);
	char *text;

	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(rest, columns[i]);
	json_add(&b, rest);
	cJSON_Delete(rest);
	text = arena_text(a, b.p);
	buf_fini(&b);
	return text;
}

static int save_version(struct sup *s, const struct agent_row *row,
			const struct definition *d, struct err *e)
{
	struct buf text = BUF_MAX(DEFINITION_MAX + 6 * PROMPT_MAX);
	struct agent_version_row v = {
		.agent = row->name,
		.version = row->version,
		.digest = row->digest,
		.source = row->source,
		.created_at = row->updated_at,
	};
	cJSON *whole = cJSON_Duplicate(d->json, true);
	int rc;

	if (d->prompt) {
		cJSON_DeleteItemFromObjectCaseSensitive(whole, "prompt");
		cJSON_AddStringToObject(whole, "prompt", d->prompt);
	}
	json_add(&text, whole);
	cJSON_Delete(whole);
	v.definition = text.p;
	rc = buf_ok(&text, "the definition", e);
	if (rc == 0)
		rc = sql_exec(s->db, Q_AGENT_VERSION_ADD, &v, e) < 0 ? -1 : 0;
	buf_fini(&text);
	return rc;
}

static int tell_host(struct sup *s, const char *name, const char *what,
		     struct err *e)
{
	struct buf body = BUF_MAX(128);
	struct host_event_add_in in = {
		.at = clock_now(),
		.kind = "agent",
		.subject = name,
		.agent = name,
	};
	int rc;

	buf_addf(&body, "{\"change\":\"%s\"}", what);
	in.body = body.p;
	rc = sql_exec(s->db, Q_HOST_EVENT_ADD, &in, e);
	buf_fini(&body);
	s->host_changed = true;
	return rc < 0 ? -1 : 0;
}

/* Writes the definition as the agent's newest version; *row becomes it. */
static int save(struct sup *s, const char *name, const struct definition *d,
		struct agent_row *row, bool is_new, struct arena *a,
		struct err *e)
{
	struct agent_version_last_in key = {name};
	struct agent_version_last_row last;
	int64_t now = clock_now();

	if (step_begin(&s->step, e) ||
	    sql_get(s->db, Q_AGENT_VERSION_LAST, &key, &last, NULL, e) < 0)
		return -1;
	*row = (struct agent_row){
		.name = arena_text(a, name),
		.driver = arena_text(a, json_text(d->json, "driver", "")),
		.workspace = arena_text(
			a, json_text(d->json, "workspace", "disk")),
		.model = arena_text(a, json_text(d->json, "model", NULL)),
		.prompt = arena_text(a, d->prompt),
		.is_default = json_bool(d->json, "default",
					!is_new && row->is_default),
		.is_enabled = json_bool(d->json, "enabled", true),
		.spec = spec_text(d, a),
		.version = last.version + 1,
		.digest = arena_text(a, d->digest),
		.source = d->source,
		.created_at = is_new ? now : row->created_at,
		.updated_at = now,
	};
	if (row->is_default &&
	    sql_exec(s->db, Q_AGENT_CLEAR_DEFAULT, NULL, e) < 0)
		return -1;
	if (sql_exec(s->db, Q_AGENT_PUT, row, e) < 0 ||
	    save_version(s, row, d, e))
		return -1;
	return tell_host(s, name, is_new ? "added" : "changed", e);
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

static int check(const char *name, const struct definition *d, struct err *e)
{
	static const char *const drivers[] = {"script", "exec", "acp", "chat",
					      NULL};
	static const char *const modes[] = {"disk", "vfs-scratch", "vfs-only",
					    NULL};
	const char *driver = json_text(d->json, "driver", "");
	const char *mode = json_text(d->json, "workspace", "disk");

	if (!is_one_of(driver, drivers))
		return err_set(e, ERR_INVALID,
			       "agent %s: driver %s is not one of script, "
			       "exec, acp, chat",
			       name, quoted(driver).text);
	if (!is_one_of(mode, modes))
		return err_set(e, ERR_INVALID,
			       "agent %s: workspace %s is not one of disk, "
			       "vfs-scratch, vfs-only",
			       name, quoted(mode).text);
	return 0;
}

/* --- files ------------------------------------------------------------ */

struct files {
	struct buf json;
	struct buf prompt;
	bool has_prompt;
};

/* 1 with both files read, 0 if there is no definition in files. */
static int read_files(struct sup *s, const char *name, struct files *f,
		      struct err *e)
{
	struct buf below = BUF_MAX(256);
	struct home_path json, prompt;

	buf_addf(&below, "%s/agent.json", name);
	json = home_join(&s->home, HOME_AGENTS, below.p);
	buf_clear(&below);
	buf_addf(&below, "%s/prompt.md", name);
	prompt = home_join(&s->home, HOME_AGENTS, below.p);
	buf_fini(&below);
	if (!file_exists(json.text))
		return 0;
	f->has_prompt = file_exists(prompt.text);
	if (file_read(json.text, &f->json, e) ||
	    (f->has_prompt && file_read(prompt.text, &f->prompt, e)))
		return -1;
	return 1;
}

static void digest_files(const struct files *f, char out[HASH_HEX])
{
	struct hash *h = hash_new();

	hash_add(h, f->json.p, f->json.n);
	hash_add(h, f->has_prompt ? "+" : "-", 1);
	hash_add(h, f->prompt.p, f->prompt.n);
	hash_end(h, out);
}

static int save_files(struct sup *s, const char *name, const struct files *f,
		      struct agent_row *row, bool is_new, struct arena *a,
		      struct err *e)
{
	struct definition d = {.source = "file"};
	int rc;

	d.json = json_parse_object("agent.json", f->json.p, f->json.n, e);
	if (!d.json)
		return err_wrap(e, "agent %s", name);
	d.prompt = f->has_prompt ? f->prompt.p
				 : json_text(d.json, "prompt", NULL);
	digest_files(f, d.digest);
	rc = check(name, &d, e);
	if (rc == 0)
		rc = save(s, name, &d, row, is_new, a, e);
	cJSON_Delete(d.json);
	return rc;
}

int sup_agent_read(struct sup *s, const char *name, struct agent_row *out,
		   struct arena *a, struct err *e)
{
	struct files f = {.json = BUF_MAX(DEFINITION_MAX),
			  .prompt = BUF_MAX(PROMPT_MAX)};
	struct agent_get_in key = {name};
	int known = sql_get(s->db, Q_AGENT_GET, &key, out, a, e);
	char digest[HASH_HEX];
	int files = known < 0 ? -1 : read_files(s, name, &f, e);

	if (files == 1) {
		digest_files(&f, digest);
		if (known == 0 || strcmp(out->digest, digest) != 0)
			known = save_files(s, name, &f, out, known == 0, a, e)
					? -1
					: 1;
	} else if (files < 0) {
		known = -1;
	}
	buf_fini(&f.json);
	buf_fini(&f.prompt);
	return known;
}

/* --- by command ------------------------------------------------------- */

int sup_agent_put(struct sup *s, const char *name, const char *definition,
		  const char *by, struct sup_done done, struct err *e)
{
	struct definition d = {.source = "command"};
	struct agent_get_in key = {name};
	struct agent_row row;
	struct arena a = {0};
	int known, rc = -1;

	(void)by;
	if (text_check_name("agent", name, e))
		return -1;
	d.json = json_parse_object("the definition", definition,
				   strlen(definition), e);
	if (!d.json)
		return -1;
	d.prompt = json_text(d.json, "prompt", NULL);
	hash_of(definition, strlen(definition), d.digest);
	known = sql_get(s->db, Q_AGENT_GET, &key, &row, &a, e);
	if (known >= 0 && !check(name, &d, e))
		rc = known == 1 && !strcmp(row.digest, d.digest)
			     ? 0
			     : save(s, name, &d, &row, known == 0, &a, e);
	cJSON_Delete(d.json);
	arena_fini(&a);
	if (rc)
		return -1;
	sup_done_later(s, done, name, true, NULL);
	return 0;
}

int sup_agent_delete(struct sup *s, const char *name, const char *by,
		     struct sup_done done, struct err *e)
{
	struct agent_delete_in key = {name};
	int n;

	(void)by;
	if (live_count_agent(&s->lives, name) > 0)
		return err_set(e, ERR_CONFLICT, "agent %s has live runs", name);
	if (step_begin(&s->step, e))
		return -1;
	n = sql_exec(s->db, Q_AGENT_DELETE, &key, e);
	if (n == 0)
		return err_set(e, ERR_NOTFOUND, "there is no agent %s",
			       quoted(name).text);
	if (n < 0 || tell_host(s, name, "deleted", e))
		return -1;
	sup_done_later(s, done, name, true, NULL);
	return 0;
}

/* --- the registry of files -------------------------------------------- */

/* Makes the file, or brings it to this program's schema. */
static int make_file(const struct agent_database_row *row, struct err *e)
{
	struct agent_file f;

	if (agent_file_open(&f, row->path, row->agent, SQL_CREATE, e))
		return -1;
	agent_file_close(&f);
	return 0;
}

int sup_agent_database(struct sup *s, const char *name,
		       struct agent_database_row *out, struct arena *a,
		       struct err *e)
{
	struct agent_database_get_in key = {name};
	int found = sql_get(s->db, Q_AGENT_DATABASE_GET, &key, out, a, e);
	struct home_path dir;

	if (found == 1 && out->schema_version == agent_schema.version &&
	    file_exists(out->path))
		return 0;
	if (found < 0 || step_begin(&s->step, e))
		return -1;
	dir = home_join(&s->home, HOME_AGENTS, name);
	if (file_make_dir(dir.text, 0700, e))
		return -1;
	if (found == 0)
		*out = (struct agent_database_row){
			.agent = arena_text(a, name),
			.path = arena_printf(a, "%s/agent.sqlite", dir.text),
			.epoch = 1,
			.created_at = clock_now(),
		};
	if (make_file(out, e))
		return -1;
	out->schema_version = agent_schema.version;
	out->last_seen_at = clock_now();
	return sql_exec(s->db, Q_AGENT_DATABASE_PUT, out, e) < 0 ? -1 : 0;
}
