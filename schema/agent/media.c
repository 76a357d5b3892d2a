#include "schema/agent/media.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS 16 /* of the SHA-256, in the name of a directory */
#define NAME_FIT \
	200 /* a longer file name is replaced by the id of the
		      * artifact */

/* --- files on demand -------------------------------------------------- */

static const char *file_name(const struct artifact_row *row)
{
	const char *slash = strrchr(row->name, '/');
	const char *last = slash ? slash + 1 : row->name;

	if (*last == '\0' || *last == '.' || strlen(last) > NAME_FIT)
		return row->aid;
	return last;
}

/* An existing file has the right content, since its directory is named by the
 * hash. The length is compared in case it was changed. The modification
 * time is that of the last use. */
static bool is_there(const char *path, int64_t size)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_size == size && utimensat(AT_FDCWD, path, NULL, 0) == 0;
}

static int make_media_file(struct sql *db, const char *aid, const char *dir,
			   const char *path, struct err *e)
{
	struct atomic_file f;

	/* gc may remove the empty directory in between. */
	for (int tries = 0; tries < 3; tries++) {
		if (file_make_dir(dir, 0700, e))
			return -1;
		if (atomic_file_open(&f, path, 0600, e) == 0)
			return atomic_file_end(
				&f, artifact_get_fd(db, aid, f.fd, path, e), e);
		if (e->code != ERR_NOTFOUND)
			break;
	}
	return -1;
}

int media_materialise(struct sql *db, const char *aid, const char *dir,
		      const char **path, struct arena *a, struct err *e)
{
	struct artifact_row row;
	const char *sub, *full;
	int found = artifact_get(db, aid, &row, a, e);

	if (found <= 0)
		return found < 0 ? -1
				 : err_set(e, ERR_NOTFOUND,
					   "there is no artifact '%s'",
					   quoted(aid).text);
	sub = arena_printf(a, "%s/%.*s", dir, DIGITS, row.sha256);
	full = arena_printf(a, "%s/%s", sub, file_name(&row));
	if (!is_there(full, row.size) && make_media_file(db, aid, sub, full, e))
		return -1;
	*path = full;
	return 0;
}

/* --- gc ------------------------------------------------------------------- */

/* Directories of artifacts, and of messages and runs
 * (schema/control/channel/attachment.h). */
static bool is_ours(const char *name)
{
	return (strlen(name) == DIGITS &&
		strspn(name, "0123456789abcdef") == DIGITS) ||
	       id_is(ID_INBOUND, name) || id_is(ID_DELIVERY, name) ||
	       id_is(ID_RUN, name);
}

static int64_t age_of(int at, const char *name)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return -1;
	return clock_now() - (st.st_mtim.tv_sec * INT64_C(1000) +
			      st.st_mtim.tv_nsec / 1000000);
}

static DIR *open_below(int top, const char *name)
{
	int at = openat(top, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = at < 0 ? NULL : fdopendir(at);

	if (!d && at >= 0)
		close(at);
	return d;
}

static int gc_dir(int top, const char *name, int64_t age)
{
	DIR *d = open_below(top, name);
	int gone = 0;

	if (!d)
		return 0;
	for (struct dirent *f; (f = readdir(d)) != NULL;)
		if (age_of(dirfd(d), f->d_name) >= age &&
		    unlinkat(dirfd(d), f->d_name, 0) == 0)
			gone++;
	closedir(d);
	unlinkat(top, name, AT_REMOVEDIR); /* it stays if it is not empty */
	return gone;
}

/* The messages of a plugin channel. The directory itself stays: the sandbox of
 * the plugin shows it. */
static int gc_channel(int top, const char *name, int64_t age)
{
	DIR *d = open_below(top, name);
	int gone = 0;

	if (!d)
		return 0;
	for (struct dirent *f; (f = readdir(d)) != NULL;)
		if (is_ours(f->d_name))
			gone += gc_dir(dirfd(d), f->d_name, age);
	closedir(d);
	return gone;
}

int media_gc(const char *dir, int64_t age, struct err *e)
{
	DIR *d = opendir(dir);
	int gone = 0;

	if (!d)
		return errno == ENOENT ? 0 : err_errno_set(e, "%s", dir);
	for (struct dirent *f; (f = readdir(d)) != NULL;) {
		if (is_ours(f->d_name))
			gone += gc_dir(dirfd(d), f->d_name, age);
		else if (id_is(ID_CHANNEL, f->d_name))
			gone += gc_channel(dirfd(d), f->d_name, age);
	}
	closedir(d);
	return gone;
}
