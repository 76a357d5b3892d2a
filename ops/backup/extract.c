#include "ops/backup/extract.h"

#include "lib/base/text.h"
#include "lib/db/integrity.h"
#include "lib/os/file.h"
#include "ops/backup/archive_read.h"
#include "ops/staging_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct seen {
	const char *path;
	const char *problem; /* of a database */
	int64_t bytes, pages;
	int version;
	char sha256[HASH_HEX];
	struct seen *next;
};

struct job {
	const struct extract_options *options;
	struct unpack *u;
	struct arena arena;
	struct seen *first, **end;
	struct buf manifest;
	int dir;
};

/* Allowed paths: "agents/NAME/agent.sqlite" has three parts. */
static bool is_database(const char *path)
{
	const char *name = strchr(path, '/');
	const char *rest = name ? strchr(name + 1, '/') : NULL;

	return !strcmp(path, MANIFEST_CONTROL) ||
	       (!strncmp(path, "agents/", 7) && rest &&
		!strcmp(rest, "/agent.sqlite"));
}

static bool in_workspace(const char *path)
{
	const char *rest = strncmp(path, "agents/", 7) ? NULL
						       : strchr(path + 7, '/');

	return rest && !strncmp(rest, "/workspace", 10) &&
	       (rest[10] == '/' || !rest[10]);
}

/* Whether the item is kept after it was checked. */
static bool stays(const struct extract_options *options, const char *path)
{
	if (!options->keep || options->nagents == 0 ||
	    strncmp(path, "agents/", 7) != 0)
		return options->keep;
	for (int i = 0; i < options->nagents; i++) {
		size_t n = strlen(options->agents[i]);

		if (!strncmp(path + 7, options->agents[i], n) &&
		    path[7 + n] == '/')
			return true;
	}
	return false;
}

/* Opens the directory for an item without following links: a malicious archive
 * could contain links. */
static int open_parent(struct job *j, const char *path, struct err *e)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH |
					  RESOLVE_NO_SYMLINKS};
	char *parent = dirname(arena_text(&j->arena, path));
	const char *full = arena_printf(&j->arena, "%s/%s", j->options->dir,
					parent);
	long fd = syscall(SYS_openat2, j->dir, parent, &how, sizeof how);

	if (fd < 0 && errno == ENOENT && !file_make_dir(full, 0700, e))
		fd = syscall(SYS_openat2, j->dir, parent, &how, sizeof how);
	if (fd < 0)
		err_errno_set(e, "%s", full);
	return (int)fd;
}

static int put_file(struct job *j, int parent, const char *name,
		    const struct unpack_item *it, char *sha256, struct err *e)
{
	int fd = openat(parent, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	struct timespec at[2] = {{.tv_nsec = UTIME_OMIT},
				 {.tv_sec = it->mtime_ns / 1000000000,
				  .tv_nsec = it->mtime_ns % 1000000000}};
	int rc;

	if (fd < 0)
		return err_errno_set(e, "%s", it->path);
	rc = unpack_data(j->u, fd, it->path, sha256, e);
	if (!rc && in_workspace(it->path) &&
	    (fchmod(fd, it->mode & 07777) || futimens(fd, at)))
		rc = err_errno_set(e, "%s", it->path);
	if (close(fd) && !rc)
		rc = err_errno_set(e, "%s", it->path);
	return rc;
}

/* Directories and links: parts of workspaces only. */
static int put_other(struct job *j, int parent, const char *name,
		     const struct unpack_item *it, struct err *e)
{
	int rc;

	if (!in_workspace(it->path) || (!S_ISDIR(it->mode) && !it->link))
		return err_set(e, ERR_CORRUPT,
			       "%s: unexpected file %s in the backup",
			       j->options->name, quoted(it->path).text);
	if (!stays(j->options, it->path))
		return 0;
	rc = it->link ? symlinkat(it->link, parent, name)
		      : mkdirat(parent, name, 0700 | (it->mode & 0777));
	return rc ? err_errno_set(e, "%s", it->path) : 0;
}

static int note_extracted(struct job *j, const struct unpack_item *it,
			  const char *sha256, struct err *e)
{
	const char *full = arena_printf(&j->arena, "%s/%s", j->options->dir,
					it->path);
	struct seen *s = arena_alloc(&j->arena, sizeof *s);
	struct db_health h;

	s->path = arena_text(&j->arena, it->path);
	s->bytes = it->bytes;
	snprintf(s->sha256, sizeof s->sha256, "%s", sha256);
	if (is_database(it->path)) {
		if (db_check(full, &h, &j->arena, e))
			return -1;
		s->problem = h.problem;
		s->pages = h.pages;
		s->version = h.version;
	}
	*j->end = s;
	j->end = &s->next;
	return 0;
}

static int read_manifest(struct job *j, struct err *e)
{
	const char *full = arena_printf(&j->arena, "%s/" MANIFEST_PATH,
					j->options->dir);

	if (file_read(full, &j->manifest, e))
		return -1;
	return unlink(full) ? err_errno_set(e, "%s", full) : 0;
}

static int extract_file(struct job *j, int parent, const char *name,
			const struct unpack_item *it, struct err *e)
{
	char sha256[HASH_HEX];

	if (!stays(j->options, it->path) && in_workspace(it->path))
		return unpack_data(j->u, -1, it->path, sha256, e);
	if (put_file(j, parent, name, it, sha256, e))
		return -1;
	if (!strcmp(it->path, MANIFEST_PATH))
		return read_manifest(j, e);
	if (in_workspace(it->path))
		return 0;
	if (note_extracted(j, it, sha256, e))
		return -1;
	return !stays(j->options, it->path) && unlinkat(parent, name, 0)
		       ? err_errno_set(e, "%s", it->path)
		       : 0;
}

static int extract_item(struct job *j, const struct unpack_item *it,
			struct err *e)
{
	const char *slash = strrchr(it->path, '/');
	const char *name = slash ? slash + 1 : it->path;
	int parent, rc;

	/* no directory is created for items that are only checked */
	if (in_workspace(it->path) && !stays(j->options, it->path))
		return S_ISREG(it->mode) ? extract_file(j, -1, name, it, e)
					 : put_other(j, -1, name, it, e);
	parent = open_parent(j, it->path, e);

	if (parent < 0)
		return -1;
	rc = S_ISREG(it->mode) ? extract_file(j, parent, name, it, e)
			       : put_other(j, parent, name, it, e);
	close(parent);
	return rc;
}

/* --- does it fit the manifest? ----------------------------------------- */

static int differs(const struct job *j, const char *path, const char *how,
		   struct err *e)
{
	return err_set(e, ERR_CORRUPT, "%s is damaged: %s %s", j->options->name,
		       quoted(path).text, how);
}

static int compare_one(const struct job *j, const struct manifest_item *it,
		       const struct seen *s, struct err *e)
{
	bool reported = it->integrity && strcmp(it->integrity, "ok") != 0;

	if (!s || strcmp(s->path, it->path) != 0)
		return differs(j, it->path, "is not where the manifest has it",
			       e);
	if (!it->sha256 || strcmp(s->sha256, it->sha256) != 0 ||
	    s->bytes != it->bytes)
		return differs(j, it->path, "does not have its hash", e);
	if (s->pages != it->pages || s->version != it->schema_version)
		return differs(j, it->path, "is another database", e);
	if (s->problem && !reported)
		return err_set(e, ERR_CORRUPT, "%s: %s: %s", j->options->name,
			       it->path, s->problem);
	return 0;
}

static void count_item(const struct manifest_item *it, struct backup_sum *out)
{
	out->files += it->path != NULL;
	out->agents += it->path && !strcmp(it->role, "agent");
	if (!it->integrity || !strcmp(it->integrity, "ok"))
		return;
	if (out->problems++ == 0)
		text_printf(out->problem, sizeof out->problem, "%s: %s",
			    it->source_path ? it->source_path : it->role,
			    it->integrity);
}

static int compare_manifest(struct job *j, struct manifest *m,
			    struct backup_sum *out, struct err *e)
{
	const struct seen *s = j->first;

	if (j->manifest.n == 0)
		return err_set(e, ERR_CORRUPT,
			       "%s has no manifest; it is not a backup of "
			       "skep",
			       j->options->name);
	if (manifest_parse(m, j->manifest.p, j->manifest.n, e))
		return err_wrap(e, "%s", j->options->name);
	for (int i = 0; i < m->count; i++) {
		const struct manifest_item *it = &m->items[i];

		count_item(it, out);
		if (!it->path || !strcmp(it->role, "workspace"))
			continue;
		if (compare_one(j, it, s, e))
			return -1;
		s = s->next;
	}
	return s ? differs(j, s->path, "is not in the manifest", e) : 0;
}

static int read_archive(struct job *j, struct manifest *m,
			struct backup_sum *out, struct err *e)
{
	struct unpack_item it;
	int got;

	if (unpack_new(&j->u, j->options->fd, j->options->name, e))
		return -1;
	while ((got = unpack_next(j->u, &it, e)) > 0) {
		if (extract_item(j, &it, e))
			return -1;
		ops_progress_report(&j->options->progress, unpack_read(j->u),
				    j->options->size);
	}
	if (got < 0 || unpack_end(j->u, e) || compare_manifest(j, m, out, e))
		return -1;
	out->bytes = unpack_read(j->u);
	return 0;
}

int extract(const struct extract_options *options, struct manifest *m,
	    struct backup_sum *out, struct err *e)
{
	struct job j = {.options = options};
	int rc;

	*m = (struct manifest){0};
	*out = (struct backup_sum){0};
	j.end = &j.first;
	buf_init(&j.manifest, MANIFEST_MAX);
	j.dir = open(options->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	rc = j.dir < 0 ? err_errno_set(e, "%s", options->dir)
		       : read_archive(&j, m, out, e);
	if (rc)
		manifest_fini(m);
	unpack_free(j.u);
	if (j.dir >= 0)
		close(j.dir);
	buf_fini(&j.manifest);
	arena_fini(&j.arena);
	return rc;
}
