/* Items other than sessions: definitions, credentials, artifacts,
 * workspaces. */
#include "ops/import/import_ledger.h"

#include "lib/base/hash.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "schema/agent/artifact.h"
#include "schema/control/agent.h"
#include "schema/secret.h"
#include "vfs/core/vfs.h"
#include "vfs/transfer/transfer.h"

#include <stdio.h>
#include <string.h>

/* --- definitions ---------------------------------------------------------------- */

static int restore_agent_file(struct import_run *m, void *arg,
			      struct agent_file *f, struct import_item *p,
			      struct err *e)
{
	const char *name = strchr(p->target, ' ') + 1;
	int made;

	(void)f;
	p->records = 1;
	if (!m->run) {
		p->added = 1;
		return secret_check(name, arg, e);
	}
	made = m->host->agent(m->host->arg, name, arg, e);
	p->added = made > 0;
	return made < 0 ? -1 : 0;
}

int import_agent(struct import_run *m, const char *importer, const char *part,
		 const char *name, const cJSON *def, struct err *e)
{
	struct item_options options = {
		.importer = importer,
		.part = part,
		.target = arena_printf(&m->arena, "agent %s",
				       import_agent_name(m, name)),
		.take = restore_agent_file,
		.arg = (void *)(uintptr_t)def,
	};

	return import_once(m, &options, e);
}

/* --- credentials: files, and files they stay --------------------------------------- */

static int copy_credential(struct import_run *m, void *arg,
			   struct agent_file *f, struct import_item *p,
			   struct err *e)
{
	struct home_path to = home_join(m->home, HOME_CREDENTIALS, arg);
	struct buf b = BUF_MAX(SOURCE_MAX), old = BUF_MAX(SOURCE_MAX);
	bool there = file_exists(to.text);
	int rc = source_read(m->file->path, &b, e);

	(void)f;
	p->records = 1;
	p->added = !there;
	if (!rc && there)
		rc = file_read(to.text, &old, e);
	if (!rc && there && (old.n != b.n || memcmp(old.p, b.p, b.n) != 0))
		rc = err_set(e, ERR_CONFLICT, "%s already exists and differs",
			     to.text);
	if (!rc && m->run && !there)
		rc = atomic_file_write(to.text, b.p, b.n, 0600, e);
	buf_fini(&b);
	buf_fini(&old);
	return rc;
}

int import_credential(struct import_run *m, const char *name, struct err *e)
{
	const char *fit = import_agent_name(m, name);
	struct item_options options = {
		.importer = "credential",
		.target = arena_printf(&m->arena, "credentials/%s", fit),
		.take = copy_credential,
		.arg = arena_text(&m->arena, fit),
	};

	m->file->claimed = true;
	return import_once(m, &options, e);
}

/* --- artifacts -------------------------------------------------------------------- */

static int copy_artifact(struct import_run *m, void *arg, struct agent_file *f,
			 struct import_item *p, struct err *e)
{
	const struct artifact_key *key = arg;
	struct artifact_about about = {0};
	struct buf b = BUF_MAX(SOURCE_MAX);
	struct artifact_row row;
	char sha256[HASH_HEX];
	int rc = 0, found;

	p->records = p->added = 1;
	if (!f)
		return 0;
	rc = source_read(m->file->path, &b, e);
	found = rc ? -1 : artifact_find(f->db, key, &row, &m->arena, e);
	hash_of(b.p, b.n, sha256);
	if (found > 0 && !strcmp(row.sha256, sha256))
		p->added = 0;
	else if (found >= 0)
		rc = artifact_put(f->db, key, &about, (struct blob){b.p, b.n},
				  NULL, e);
	buf_fini(&b);
	return found < 0 ? -1 : rc;
}

int import_artifact(struct import_run *m, const char *importer,
		    const char *agent, const char *kind, const char *name,
		    struct err *e)
{
	struct artifact_key key = artifact_key_named(importer, kind, name);
	struct item_options options = {
		.importer = importer,
		.agent = import_agent_name(m, agent),
		.take = copy_artifact,
		.arg = &key,
	};

	options.target = arena_printf(&m->arena, "%s artifact %s/%s/%s",
				      options.agent, importer, kind, name);
	m->file->claimed = true;
	return import_once(m, &options, e);
}

/* --- workspaces -------------------------------------------------------------------- */

struct namespaces {
	const char *name;
	int64_t entries;
};

static int copy_workspace(struct import_run *m, void *arg, struct agent_file *f,
			  struct import_item *p, struct err *e)
{
	const struct namespaces *s = arg;
	struct vfs_transfer port = {.path = ""};
	struct err known;
	struct vfs *v = NULL;
	int rc;

	p->records = s->entries;
	if (!f)
		return 0;
	/* it exists: the import overwrites it and duplicates nothing */
	(void)vfs_create(f->db, s->name, NULL, &known);
	rc = vfs_open(&v, f->db, s->name, "migrate", e) ||
	     vfs_import_agentfs(v, staging_dir_path(&m->work, SOURCE_COPY),
				&port, e);
	vfs_close(v);
	p->added = port.nodes;
	return rc ? -1 : 0;
}

int import_workspace(struct import_run *m, const char *name, int64_t entries,
		     struct err *e)
{
	struct namespaces space = {
		arena_text(&m->arena, import_agent_name(m, name)), entries};
	struct item_options options = {
		.importer = "agentfs",
		.agent = import_agent_name(m, NULL),
		.take = copy_workspace,
		.arg = &space,
	};

	options.target = arena_printf(&m->arena, "%s:%s", options.agent,
				      space.name);
	return import_once(m, &options, e);
}
