/* Databases on a full disk, or in a directory that cannot be written. */
#include "lib/db/internal.h"

#include "lib/base/buf.h"
#include "lib/os/file.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DISK_FULL 65536 /* bytes: the minimum for a WAL and its index */

struct place {
	char dir[PATH_MAX];
	bool full, read_only, denied;
	long long free;
};

static struct place inspect_place(const char *path)
{
	struct place p = {.full = false};
	char copy[PATH_MAX];
	struct statvfs fs;

	if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy)
		return p;
	(void)snprintf(p.dir, sizeof p.dir, "%s", dirname(copy));
	if (statvfs(p.dir, &fs))
		return p;
	p.free = (long long)(fs.f_bavail * fs.f_frsize);
	p.read_only = fs.f_flag & ST_RDONLY;
	p.full = !p.read_only && p.free < DISK_FULL;
	p.denied = !p.read_only && access(p.dir, W_OK) != 0;
	return p;
}

/* On a pipe SQLite would wait for ever. */
int sql_check_files(const char *path, struct err *e)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char file[PATH_MAX + 8];
	struct stat st;

	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		if (snprintf(file, sizeof file, "%s%s", path, suffixes[i]) <
			    (int)sizeof file &&
		    stat(file, &st) == 0 && !S_ISREG(st.st_mode))
			return err_set(e, ERR_INVALID,
				       "%s is not a regular file", file);
	}
	return 0;
}

int sql_place_refuses(const char *path, struct err *e)
{
	struct place p = inspect_place(path);

	if (p.read_only)
		return err_set(e, ERR_READONLY,
			       "%s: the directory %s is not writable: the "
			       "file system is read-only",
			       path, p.dir);
	if (p.denied)
		return err_set(e, ERR_READONLY,
			       "%s: the directory %s is not writable by this "
			       "user",
			       path, p.dir);
	if (p.full)
		return err_set(e, ERR_FULL,
			       "%s: the disk is full (%lld bytes free); "
			       "free some space",
			       path, p.free);
	return 0;
}

static void add_escaped(struct buf *b, const char *path)
{
	for (; *path; path++)
		if (strchr("%?#", *path))
			buf_addf(b, "%%%02X", (unsigned char)*path);
		else
			buf_addc(b, *path);
}

/*
 * SQLite shares the index of a log through the file -shm, which it creates and
 * extends even for readers. With readonly_shm it uses the existing file
 * unchanged: that of a live writer, or, without one, an index in memory. The
 * file must exist but may be empty, which takes no block of the disk.
 *
 * If no file can be created and there is no log, all data is in the database,
 * and no process can write to it through this directory: immutable.
 */
char *sql_uri_without_writes(const char *path)
{
	struct buf b = BUF_MAX(4 * PATH_MAX);
	char beside[PATH_MAX + 8];
	struct place p = inspect_place(path);
	bool makes_files = p.full && !p.denied, log;

	if (!p.full && !p.read_only && !p.denied)
		return NULL;
	(void)snprintf(beside, sizeof beside, "%s-shm", path);
	if (makes_files)
		(void)mknod(beside, S_IFREG | 0600, 0);
	(void)snprintf(beside, sizeof beside, "%s-wal", path);
	log = file_size(beside) > 0;
	buf_adds(&b, "file:");
	add_escaped(&b, path);
	buf_adds(&b, makes_files || log ? "?readonly_shm=1" : "?immutable=1");
	return buf_take(&b);
}
