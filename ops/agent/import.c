#include "ops/agent/agent_archive.h"

#include "lib/base/fault.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "ops/backup/extract.h"
#include "ops/backup/restore_fixup.h"
#include "schema/agent/agent_file.h"
#include "schema/control/agent_bundle.h"

#include <string.h>

SHAPE_DEFINE(agent_import_sum, AGENT_IMPORT_SUM);

/* The name of the agent in the archive, or NULL if it is no export. */
static const char *exported_name(const struct manifest *m)
{
	const char *name = NULL;

	for (int i = 0; i < m->count; i++)
		if (strcmp(m->items[i].role, "export") == 0)
			name = m->items[i].agent;
	return name;
}

static int unpack_archive(struct agent_import *x, struct manifest *m,
			  struct err *e)
{
	struct extract_options o = {.fd = x->fd,
				    .name = x->archive,
				    .dir = x->work.path,
				    .keep = true,
				    .size = x->size,
				    .progress = x->progress};
	struct backup_sum sum;

	if (extract(&o, m, &sum, e))
		return -1;
	if (exported_name(m))
		return 0;
	manifest_fini(m);
	return err_set(e, ERR_INVALID,
		       "%s is not an exported agent; if it is a backup, use "
		       "'skep backup restore'",
		       x->archive);
}

static const char *json_of(const cJSON *v, struct arena *a)
{
	struct buf b = BUF_MAX(AGENT_BUNDLE_MAX);
	const char *text;

	json_add(&b, v);
	text = arena_text(a, b.over ? "[]" : b.p);
	buf_fini(&b);
	return text;
}

/* What the document says, for the report. */
static int read_bundle(const char *dir, struct agent_import_sum *out,
		       struct arena *a, struct err *e)
{
	const char *path = arena_printf(a, "%s/" AGENT_BUNDLE_FILE, dir);
	struct buf text = BUF_MAX(AGENT_BUNDLE_MAX);
	cJSON *files = cJSON_CreateArray(), *vars = cJSON_CreateArray();
	cJSON *v = NULL;
	int rc = file_read(path, &text, e);

	if (rc == 0)
		v = agent_bundle_parse("the exported agent", text.p, text.n, e);
	if (v) {
		agent_bundle_secrets(json_member(v, "definition"), files, vars);
		out->versions = cJSON_GetArraySize(json_member(v, "versions"));
		out->bindings = json_of(json_member(v, "bindings"), a);
		out->credentials = json_of(files, a);
		out->variables = json_of(vars, a);
	}
	cJSON_Delete(v);
	cJSON_Delete(files);
	cJSON_Delete(vars);
	buf_fini(&text);
	return v ? 0 : -1;
}

/* The file of the copy: it belongs to the new agent, and nothing in it is active
 * or about to be sent. */
static int prepare_file(const char *path, struct agent_import_sum *out,
			struct err *e)
{
	struct buf held = BUF_MAX(64u << 20);
	struct restore_sum sum = {0};
	struct agent_file f;
	int rc;

	if (!file_exists(path)) /* the agent had no data */
		return 0;
	rc = fixup_agent(path, out->original, &sum, &held, e);
	buf_fini(&held);
	if (rc || agent_file_open(&f, path, out->original, 0, e))
		return -1;
	rc = agent_file_set_owner(&f, out->agent, e);
	agent_file_close(&f);
	out->runs_failed = sum.runs_failed;
	out->messages_held = sum.messages_held;
	return rc;
}

int agent_import_stage(struct agent_import *x, struct agent_import_sum *out,
		       const char **dir, struct arena *a, struct err *e)
{
	struct home_path parent = home_path(x->home, HOME_BACKUPS);
	struct manifest m;

	*out = (struct agent_import_sum){0};
	if (file_make_dir(parent.text, 0700, e) ||
	    staging_dir_open(&x->work, parent.text, ".work", x->id, e) ||
	    unpack_archive(x, &m, e))
		return -1;
	out->original = arena_text(a, exported_name(&m));
	out->agent = x->name ? x->name : out->original;
	manifest_fini(&m);
	*dir = arena_printf(a, "%s/agents/%s", x->work.path, out->original);
	if (read_bundle(*dir, out, a, e) ||
	    prepare_file(arena_printf(a, "%s/agent.sqlite", *dir), out, e) ||
	    tree_sync_all(*dir, e))
		return -1;
	return fault_point(FAULT_agent_staged, e);
}
