/* The walk over the source: every file is given to who knows it. */
#include "ops/migrate.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/id.h"
#include "base/text.h"
#include "ops/migrate_take.h"
#include "schema/control.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ends(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);

	return n >= k && !strcmp(path + n - k, end);
}

static bool is_database(const char *path)
{
	char head[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)sizeof head &&
	       !memcmp(head, "SQLite format 3", sizeof head);
}

/* A part of another file: its log, or the index that is read with it. */
static bool is_companion(const char *path)
{
	char base[PATH_MAX];

	if (ends(path, "/sessions/sessions.json"))
		return true;
	if (!ends(path, "-wal") && !ends(path, "-shm"))
		return false;
	snprintf(base, sizeof base, "%.*s", (int)strlen(path) - 4, path);
	return file_exists(base);
}

static int dispatch(struct migrate *m, struct err *e)
{
	const char *path = m->file->path;
	int rc = 0;

	if (ends(path, ".jsonl"))
		rc = import_jsonl(m, e);
	else if (is_database(path))
		rc = import_database(m, e);
	else if (ends(path, ".json"))
		rc = import_run(m, e);
	if (!rc && !m->file->claimed)
		migrate_unknown(m, NULL, 0, "no importer knows this file");
	return rc;
}

/* --- what becomes of a source that is ours now -------------------------------- */

static int move_to(struct migrate *m, const char *path, const char **to,
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
		return err_set(e, ERR_CONFLICT, "%s is there already", *to);
	return rename(path, *to) ? err_errno_set(e, "%s", *to) : 0;
}

static int remove_source(struct migrate *m, struct err *e)
{
	static const char *const more[] = {"-wal", "-shm"};
	const char *path = m->file->path, *where = "deleted";

	if (fault_point(FAULT_migration_remove, e))
		return -1;
	if (strcmp(m->after, "delete") != 0) {
		if (move_to(m, path, &where, e))
			return -1;
	} else if (unlink(path)) {
		return err_errno_set(e, "%s", path);
	}
	for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
		const char *side = arena_printf(&m->arena, "%s%s", path,
						more[i]);
		const char *to;

		if (!file_exists(side))
			continue;
		if (!strcmp(m->after, "delete"))
			unlink(side);
		else if (move_to(m, side, &to, e))
			return -1;
	}
	return migrate_note_removed(m, where, e);
}

static int one_file(struct migrate *m, const char *path, struct err *e)
{
	struct migrate_file f = {.path = arena_text(&m->arena, path)};
	struct err why;
	int rc;

	if (is_companion(path))
		return 0;
	m->file = &f;
	if (foreign_mark(path, &f.mark, &why)) {
		migrate_unknown(m, NULL, 0, why.text);
		return 0;
	}
	rc = dispatch(m, e);
	if (!rc && m->run && m->after && strcmp(m->after, "keep") != 0 &&
	    f.claimed && !f.failed)
		rc = remove_source(m, e);
	m->file = NULL;
	return rc;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int walk(struct migrate *m, struct err *e)
{
	char *roots[] = {arena_text(&m->arena, m->root), NULL};
	FTS *all = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	const FTSENT *en;
	int rc = 0;

	if (!all)
		return err_errno_set(e, "%s", m->root);
	while (!rc && (en = fts_read(all)))
		if (en->fts_info == FTS_F)
			rc = one_file(m, en->fts_path, e);
	fts_close(all);
	return rc;
}

int migrate_walk(struct migrate *m, struct err *e)
{
	const char *tmp = home_env("TMPDIR");
	char full[PATH_MAX];
	int rc;

	if (!realpath(m->root, full))
		return err_errno_set(e, "%s", quoted(m->root).text);
	m->root = arena_text(&m->arena, full);
	m->work.lock = -1;
	if (workdir_open(&m->work, tmp ? tmp : "/tmp", "skep-migrate",
			 id_new(ID_MIGRATION).text, e))
		return -1;
	rc = walk(m, e);
	workdir_close(&m->work);
	if (!rc && m->sum.pieces == m->sum.unknown)
		rc = err_set(e, ERR_INVALID,
			     "nothing in %s is known to any importer", m->root);
	return rc;
}
