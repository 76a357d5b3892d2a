#include "ops/backup/backup.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/base/text.h"
#include "lib/db/integrity.h"
#include "lib/db/snapshot.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "ops/backup/archive_job.h"
#include "ops/staging_dir.h"
#include "schema/control_queries.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENTS_MAX (1 << 20)

struct job {
	const struct backup_options *options;
	struct backup_sum *sum;
	struct archive_job archive;
	struct arena arena; /* of one item */
	struct arena rows;
	struct agent_database_row *files;
	struct agent_row *agents;
	int nfiles, nagents;
};

static void note_problem(struct job *j, const char *who, const char *what)
{
	if (j->sum->problems++ == 0)
		text_printf(j->sum->problem, sizeof j->sum->problem, "%s: %s",
			    who, what);
}

static void add_item(struct job *j, const struct manifest_item *it)
{
	manifest_add(&j->archive.manifest, it);
	j->sum->files += it->path != NULL;
}

/* --- databases -------------------------------------------------------- */

/* Records a database that is in the archive. */
static void add_packed(struct job *j, struct manifest_item *it,
		       const struct db_health *h, const struct pack_sum *sum)
{
	it->schema_version = h->version;
	it->pages = h->pages;
	it->bytes = sum->bytes;
	it->sha256 = sum->sha256;
	it->integrity = h->problem ? h->problem : "ok";
	if (h->problem)
		note_problem(j, it->source_path, h->problem);
	add_item(j, it);
}

/* The snapshot is at `copy`. */
static int add_database(struct job *j, const char *copy,
			struct manifest_item *it, struct err *e)
{
	struct pack_sum sum;
	struct db_health h;

	if (db_check(copy, &h, &j->arena, e) ||
	    pack_file(j->archive.pack, it->path, copy, &sum, e))
		return -1;
	add_packed(j, it, &h, &sum);
	return 0;
}

static int add_control(struct job *j, const char *copy, struct err *e)
{
	struct home_path path = home_path(j->options->home, HOME_CONTROL_DB);
	struct manifest_item it = {.role = "control",
				   .source_path = path.text,
				   .path = MANIFEST_CONTROL};

	if (db_snapshot(path.text, copy, e) ||
	    fault_point(FAULT_backup_control, e))
		return -1;
	return add_database(j, copy, &it, e);
}

/* A small, intact file, through memory: 1. 0: not possible this way. */
static int add_image(struct job *j, struct manifest_item *it, struct err *e)
{
	struct db_image image;
	struct db_health h;
	struct pack_sum sum;
	struct err why;
	int rc;

	if (db_image_take(it->source_path, &image, &why) <= 0)
		return 0;
	rc = db_check_image(&image, &h, &j->arena, &why) || h.problem ? 0 : 1;
	if (rc && pack_bytes(j->archive.pack, it->path, image.bytes,
			     (size_t)image.n, &sum, e))
		rc = -1;
	if (rc > 0)
		add_packed(j, it, &h, &sum);
	db_image_free(&image);
	return rc;
}

/* Any file. A file that cannot be read does not prevent the backup of the
 * others. */
static int add_copy(struct job *j, struct manifest_item *it, struct err *e)
{
	const char *copy = arena_text(
		&j->arena, staging_dir_path(&j->archive.work, "agent.sqlite"));
	struct err why;
	int rc;

	if (db_snapshot(it->source_path, copy, &why)) {
		if (why.code == ERR_FULL) {
			*e = why;
			return -1;
		}
		it->path = NULL;
		it->integrity = why.text;
		note_problem(j, it->agent, why.text);
		add_item(j, it);
		return 0;
	}
	rc = add_database(j, copy, it, e);
	unlink(copy);
	return rc;
}

static int add_agent(struct job *j, const struct agent_database_row *row,
		     struct err *e)
{
	struct manifest_item it = {
		.role = "agent",
		.agent = row->agent,
		.source_path = row->path,
		.path = arena_printf(&j->arena, "agents/%s/agent.sqlite",
				     row->agent),
		.schema_version = row->schema_version,
	};
	int rc = add_image(j, &it, e);

	if (rc == 0)
		rc = add_copy(j, &it, e);
	j->sum->agents += rc >= 0 && it.path;
	return rc < 0 ? -1 : 0;
}

/* --- files ------------------------------------------------------------ */

static int add_backup_file(struct job *j, const char *role, const char *agent,
			   const char *path, struct err *e)
{
	const char *from = arena_printf(&j->arena, "%s/%s",
					j->options->home->root, path);
	struct manifest_item it = {.role = role,
				   .agent = agent,
				   .source_path = from,
				   .path = path};
	struct pack_sum sum;

	if (!file_exists(from))
		return 0;
	if (pack_file(j->archive.pack, path, from, &sum, e))
		return -1;
	it.bytes = sum.bytes;
	it.sha256 = sum.sha256;
	add_item(j, &it);
	return 0;
}

static int add_definition(struct job *j, const char *agent, struct err *e)
{
	static const char *const names[] = {"agent.json", "prompt.md"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (add_backup_file(j, "definition", agent,
				    arena_printf(&j->arena, "agents/%s/%s",
						 agent, names[i]),
				    e))
			return -1;
	return 0;
}

/* The directory beside the agent's file, in which its runs work unless its
 * definition sets another. Other directories do not belong to skep. */
static int add_workspace(struct job *j, const char *agent, struct err *e)
{
	const char *path = arena_printf(&j->arena, "agents/%s/workspace",
					agent);
	const char *dir = arena_printf(&j->arena, "%s/%s",
				       j->options->home->root, path);
	struct manifest_item it = {.role = "workspace",
				   .agent = agent,
				   .source_path = dir,
				   .path = path};
	int64_t skipped = 0;

	if (!j->options->with_workspaces || !file_exists(dir))
		return 0;
	if (pack_tree(j->archive.pack, path, dir, &skipped, e))
		return -1;
	if (skipped) {
		it.integrity = arena_printf(&j->arena, "%lld could not be read",
					    (long long)skipped);
		note_problem(j, dir, it.integrity);
	}
	add_item(j, &it);
	return 0;
}

/* --- the whole -------------------------------------------------------- */

static bool wanted(const struct backup_options *a, const char *agent)
{
	for (int i = 0; i < a->nagents; i++)
		if (!strcmp(a->agents[i], agent))
			return true;
	return a->nagents == 0;
}

/* The snapshot is not in the home. */
static void make_paths_absolute(struct job *j)
{
	for (int i = 0; i < j->nfiles; i++)
		if (*j->files[i].path != '/')
			j->files[i].path = arena_printf(&j->rows, "%s/%s",
							j->options->home->root,
							j->files[i].path);
}

/* From the snapshot, so that the list is consistent with it. */
static int read_registry(struct job *j, const char *copy, struct err *e)
{
	struct sql *db;
	int n;

	if (sql_open(&db, copy, control_schema.queries, SQL_READONLY, e))
		return -1;
	n = sql_collect(db, Q_AGENT_DATABASE_LIST, NULL, AGENTS_MAX, &j->files,
			&j->rows, e);
	j->nfiles = n;
	make_paths_absolute(j);
	if (n >= 0)
		n = sql_collect(db, Q_AGENT_LIST,
				&(struct agent_list_in){"", AGENTS_MAX},
				AGENTS_MAX, &j->agents, &j->rows, e);
	j->nagents = n;
	sql_close(db);
	return n < 0 ? -1 : 0;
}

static int check_names(const struct job *j, struct err *e)
{
	for (int i = 0; i < j->options->nagents; i++) {
		int k = 0;

		while (k < j->nfiles &&
		       strcmp(j->files[k].agent, j->options->agents[i]) != 0)
			k++;
		if (k == j->nfiles)
			return err_set(e, ERR_NOTFOUND,
				       "agent '%s' has no data to back up",
				       quoted(j->options->agents[i]).text);
	}
	return 0;
}

static int add_agents(struct job *j, struct err *e)
{
	for (int i = 0; i < j->nfiles; i++) {
		const char *name = j->files[i].agent;

		if (wanted(j->options, name) && add_agent(j, &j->files[i], e))
			return -1;
		arena_reset(&j->arena);
		ops_progress_report(&j->options->progress, i + 1, j->nfiles);
		if (i == 0 && fault_point(FAULT_backup_agents, e))
			return -1;
	}
	return 0;
}

/* Of all defined agents, also those that have no data yet. */
static int add_definitions(struct job *j, struct err *e)
{
	for (int i = 0; i < j->nagents; i++) {
		const char *name = j->agents[i].name;

		if (wanted(j->options, name) &&
		    (add_definition(j, name, e) || add_workspace(j, name, e)))
			return -1;
		arena_reset(&j->arena);
	}
	return 0;
}

static int write_archive(struct job *j, struct err *e)
{
	const char *copy = arena_text(
		&j->rows, staging_dir_path(&j->archive.work, "skep.sqlite"));
	struct pack_sum sum;

	if (add_control(j, copy, e) || read_registry(j, copy, e) ||
	    check_names(j, e) || unlink(copy) ||
	    add_backup_file(j, "config", NULL, "skep.json", e) ||
	    add_agents(j, e) || add_definitions(j, e))
		return -1;
	if (archive_end(&j->archive, &sum, e))
		return -1;
	j->sum->bytes = sum.bytes;
	memcpy(j->sum->sha256, sum.sha256, sizeof sum.sha256);
	return 0;
}

int backup_write(const struct backup_options *options, struct backup_sum *out,
		 struct err *e)
{
	struct job j = {.options = options, .sum = out, .archive = ARCHIVE_JOB};
	struct archive_target to = {
		.home = options->home,
		.id = options->id,
		.name = options->name,
		.fd = options->fd,
		.zstd = options->zstd,
		.with_workspaces = options->with_workspaces};
	int rc;

	*out = (struct backup_sum){0};
	rc = archive_begin(&j.archive, &to, e) || write_archive(&j, e);
	archive_free(&j.archive);
	arena_fini(&j.arena);
	arena_fini(&j.rows);
	return rc ? -1 : 0;
}
