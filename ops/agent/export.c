#include "ops/agent/agent_archive.h"

#include "lib/base/clock.h"
#include "lib/base/fault.h"
#include "lib/db/integrity.h"
#include "lib/db/snapshot.h"
#include "lib/os/file.h"
#include "ops/backup/archive_job.h"
#include "schema/control/agent_bundle.h"
#include "schema/control/registry.h"

#include <string.h>

SHAPE_DEFINE(agent_export_sum, AGENT_EXPORT_SUM);

struct job {
	const struct agent_export *x;
	struct agent_export_sum *sum;
	struct archive_job archive;
	struct arena arena;
};

static const char *path_in(struct job *j, const char *name)
{
	return arena_printf(&j->arena, "agents/%s/%s", j->x->agent, name);
}

static void add_exported(struct job *j, const struct manifest_item *it)
{
	manifest_add(&j->archive.manifest, it);
	j->sum->files++;
}

static int64_t count_versions(const struct buf *text)
{
	struct err ignored;
	cJSON *v = json_parse("bundle", text->p, text->n, &ignored);
	int n = cJSON_GetArraySize(json_member(v, "versions"));

	cJSON_Delete(v);
	return n;
}

static int add_rows(struct job *j, struct err *e)
{
	struct buf text = BUF_MAX(AGENT_BUNDLE_MAX);
	struct manifest_item it = {.role = "export",
				   .agent = j->x->agent,
				   .path = path_in(j, AGENT_BUNDLE_FILE)};
	struct pack_sum sum;
	int rc = agent_bundle_write(j->x->control, j->x->home, j->x->agent,
				    &text, e);

	j->sum->versions = rc ? 0 : count_versions(&text);
	if (rc == 0)
		rc = pack_bytes(j->archive.pack, it.path, text.p, text.n, &sum,
				e);
	buf_fini(&text);
	if (rc)
		return -1;
	it.bytes = sum.bytes;
	it.sha256 = sum.sha256;
	add_exported(j, &it);
	return 0;
}

/* A file that is damaged is not exported: the import would reject it. */
static int add_copy(struct job *j, const struct agent_database_row *row,
		    struct err *e)
{
	const char *copy = arena_text(
		&j->arena, staging_dir_path(&j->archive.work, "agent.sqlite"));
	struct manifest_item it = {.role = "agent",
				   .agent = row->agent,
				   .source_path = row->path,
				   .path = path_in(j, "agent.sqlite"),
				   .integrity = "ok"};
	struct pack_sum sum;
	struct db_health h;

	if (db_snapshot(row->path, copy, e) || db_check(copy, &h, &j->arena, e))
		return -1;
	if (h.problem)
		return err_set(e, ERR_CORRUPT, "%s: %s", row->path, h.problem);
	if (pack_file(j->archive.pack, it.path, copy, &sum, e))
		return -1;
	it.schema_version = h.version;
	it.pages = h.pages;
	it.bytes = sum.bytes;
	it.sha256 = sum.sha256;
	add_exported(j, &it);
	return 0;
}

static int add_file(struct job *j, struct err *e)
{
	struct agent_database_row row;
	int found = registry_find(j->x->control, j->x->agent, &row, &j->arena,
				  e);

	return found <= 0 ? found : add_copy(j, &row, e);
}

static int add_workspace_dir(struct job *j, struct err *e)
{
	const char *path = path_in(j, "workspace");
	const char *dir = arena_printf(&j->arena, "%s/%s", j->x->home->root,
				       path);
	struct manifest_item it = {.role = "workspace",
				   .agent = j->x->agent,
				   .source_path = dir,
				   .path = path};
	int64_t skipped = 0;

	if (!file_exists(dir))
		return 0;
	if (pack_tree(j->archive.pack, path, dir, &skipped, e))
		return -1;
	if (skipped)
		return err_set(e, ERR_IO, "%s: %lld files cannot be read", dir,
			       (long long)skipped);
	add_exported(j, &it);
	return 0;
}

static int write_agent(struct job *j, struct err *e)
{
	struct pack_sum sum;

	if (add_rows(j, e) || add_file(j, e) || add_workspace_dir(j, e))
		return -1;
	if (archive_end(&j->archive, &sum, e))
		return -1;
	j->sum->bytes = sum.bytes;
	return fault_point(FAULT_export_packed, e);
}

int agent_export(const struct agent_export *x, struct agent_export_sum *out,
		 struct err *e)
{
	struct job j = {.x = x, .sum = out, .archive = ARCHIVE_JOB};
	struct archive_target to = {.home = x->home,
				    .id = x->id,
				    .name = x->name,
				    .fd = x->fd,
				    .zstd = x->zstd,
				    .with_workspaces = true};
	int rc;

	*out = (struct agent_export_sum){.agent = x->agent, .path = x->name};
	rc = archive_begin(&j.archive, &to, e) || write_agent(&j, e);
	archive_free(&j.archive);
	arena_fini(&j.arena);
	return rc ? -1 : 0;
}
