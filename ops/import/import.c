/* The walk over the source: each file is passed to the importers. */
#include "ops/import/import.h"

#include "lib/base/fault.h"
#include "lib/base/id.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "ops/import/ignored.h"
#include "ops/import/import_ledger.h"

#include <errno.h>
#include <fts.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files that are read together with another one, by the ending of its path. */
static const struct {
	const char *end, *of;
} companions[] = {
	{"/prompt.md", "/character.json"},
	{"/backstory.md", "/character.json"},
};

/* A part of another file, which is read with it. */
static bool is_companion(const char *path)
{
	char base[PATH_MAX];

	for (size_t i = 0; i < sizeof companions / sizeof companions[0]; i++) {
		if (!path_ends(path, companions[i].end))
			continue;
		snprintf(base, sizeof base, "%.*s%s",
			 (int)(strlen(path) - strlen(companions[i].end)), path,
			 companions[i].of);
		return file_exists(base);
	}

	for (const char *const *side = source_suffixes; *side; side++) {
		if (!path_ends(path, *side))
			continue;
		snprintf(base, sizeof base, "%.*s",
			 (int)(strlen(path) - strlen(*side)), path);
		return source_is_database(base);
	}
	return false;
}

static int dispatch(struct import_run *m, struct err *e)
{
	const char *path = m->file->path;
	int rc = 0;

	if (source_is_database(path))
		rc = import_database(m, e);
	else if (path_ends(path, ".jsonl") &&
		 !ignored_file_reason(path_below(m)))
		rc = import_jsonl(m, e);
	else if (path_ends(path, ".json"))
		rc = import_json(m, e);
	if (!rc && !m->file->claimed)
		rc = import_other(m, e);
	return rc;
}

/* --- what becomes of a source that is ours now -------------------------------- */

static int move_to(struct import_run *m, const char *path, const char **to,
		   struct err *e)
{
	const char *below = path + strlen(m->root);
	char dir[PATH_MAX];

	while (*below == '/')
		below++;
	if (!*below)
		below = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	*to = arena_printf(&m->arena, "%s/%s", m->after, below);
	snprintf(dir, sizeof dir, "%s", *to);
	if (file_make_dir(dirname(dir), 0700, e))
		return -1;
	if (file_exists(*to))
		return err_set(e, ERR_CONFLICT, "%s already exists", *to);
	return rename(path, *to) ? err_errno_set(e, "%s", *to) : 0;
}

static int move_or_delete(struct import_run *m, const char *path,
			  const char **where, struct err *e)
{
	if (strcmp(m->after, "delete") != 0)
		return move_to(m, path, where, e);
	*where = "deleted";
	return unlink(path) ? err_errno_set(e, "%s", path) : 0;
}

static int remove_all(struct import_run *m, const char **where, struct err *e)
{
	struct source_stamp now;

	if (fault_point(FAULT_import_remove, e))
		return -1;
	if (source_stamp(m->file->path, &now, e))
		return -1;
	if (m->file->nwith == 0 &&
	    strcmp(now.sha256, m->file->mark.sha256) != 0)
		return err_set(e, ERR_BUSY, "it was changed after the import");
	if (move_or_delete(m, m->file->path, where, e))
		return -1;
	for (const char *const *s = source_suffixes; *s; s++) {
		const char *side = arena_printf(&m->arena, "%s%s",
						m->file->path, *s);
		const char *ignored;

		if (file_exists(side) && move_or_delete(m, side, &ignored, e))
			return -1;
	}
	for (int i = 0; i < m->file->nwith; i++) {
		const char *ignored;

		if (move_or_delete(m, m->file->with[i], &ignored, e))
			return -1;
	}
	return 0;
}

/* A failure here keeps the source and is reported; the import itself is
 * done. */
static int remove_source(struct import_run *m, struct err *e)
{
	const char *where = NULL;
	struct err why;

	if (remove_all(m, &where, &why)) {
		struct import_item p = import_item_of(m, "removal", "removal",
						      "-");

		err_wrap(&why, "the source was kept");
		return import_record(m, &p, why.text, e);
	}
	if (fault_point(FAULT_import_removed, e))
		return -1;
	return m->host->removed(m->host->arg, m->file->path, where, e);
}

/* --- the walk ------------------------------------------------------------------ */

static int one_file(struct import_run *m, struct err *e)
{
	int64_t before = m->sum.items;
	struct err why;
	int rc;

	if (source_stamp(m->file->path, &m->file->mark, &why)) {
		import_unknown(m, NULL, 0, why.text);
		return 0;
	}
	rc = dispatch(m, e);
	if (!rc && m->sum.items == before)
		import_unknown(m, NULL, 0,
			       "the file contains no records of its own");
	if (!rc && m->run && m->after && m->file->claimed && !m->file->failed)
		rc = remove_source(m, e);
	return rc;
}

static int entry(struct import_run *m, const FTSENT *en, struct err *e)
{
	struct import_file f = {.path = arena_text(&m->arena, en->fts_path)};
	int rc = 0;

	m->file = &f;
	switch (en->fts_info) {
	case FTS_D:
	case FTS_DP:
		break;
	case FTS_F:
		rc = is_companion(f.path) ? 0 : one_file(m, e);
		break;
	case FTS_SL:
	case FTS_SLNONE:
		import_unknown(m, NULL, 0, "links are not followed");
		break;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		import_unknown(m, NULL, 0, strerror(en->fts_errno));
		break;
	default:
		import_unknown(m, NULL, 0, "it is not a file");
	}
	m->file = NULL;
	return rc;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int walk_source(struct import_run *m, struct err *e)
{
	char *roots[] = {arena_text(&m->arena, m->root), NULL};
	FTS *all = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	const FTSENT *en;
	int rc = 0;

	if (!all)
		return err_errno_set(e, "%s", m->root);
	while (!rc && (en = fts_read(all)))
		rc = entry(m, en, e);
	fts_close(all);
	return rc;
}

int import_plan(struct import_run *m, struct err *e)
{
	const char *tmp = home_env("TMPDIR");
	char full[PATH_MAX];
	int rc;

	if (!realpath(m->root, full))
		return err_errno_set(e, "%s", quoted(m->root).text);
	m->root = arena_text(&m->arena, full);
	m->work.lock = -1;
	if (staging_dir_open(&m->work, tmp ? tmp : "/tmp", "skep-migrate",
			     id_new(ID_IMPORT).text, e))
		return -1;
	rc = walk_source(m, e);
	staging_dir_close(&m->work);
	cJSON_Delete(m->sidecar);
	m->sidecar = NULL;
	if (!rc && m->sum.items == m->sum.unknown)
		rc = err_set(e, ERR_INVALID,
			     "no importer recognizes anything in %s", m->root);
	return rc;
}
