#include "tests/support/vfs_fuzz.h"

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/db/sql.h"
#include "lib/os/file.h"
#include "schema/agent_queries.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

static char dir[256];
static char paths[4][320];

void fuzz_remove(const char *path)
{
	static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
	char full[352];

	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		snprintf(full, sizeof full, "%s%s", path, beside[i]);
		unlink(full);
	}
}

static void clean_up(void)
{
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (paths[i][0])
			fuzz_remove(paths[i]);
	rmdir(dir);
}

const char *fuzz_path(const char *name)
{
	static size_t n;

	if (n == 0) { /* in memory if there is a place: it is all about speed */
		snprintf(dir, sizeof dir, "%s/fuzz-vfs-XXXXXX",
			 file_exists("/dev/shm") ? "/dev/shm" : "/tmp");
		if (!mkdtemp(dir) || atexit(clean_up))
			abort();
	}
	assert(n < sizeof paths / sizeof *paths);
	snprintf(paths[n], sizeof paths[n], "%s/%s.sqlite", dir, name);
	return paths[n++];
}

struct vfs *fuzz_space(struct sql **db)
{
	struct vfs *v;
	struct err e;

	if (db_open(db, fuzz_path("space"), &agent_schema, SQL_CREATE, &e) ||
	    vfs_create(*db, "main", NULL, &e) ||
	    vfs_open(&v, *db, "main", "fuzz", &e))
		abort();
	return v;
}

void fuzz_damage(const char *path, const uint8_t *good, size_t n,
		 const uint8_t *edits, size_t size)
{
	uint8_t *bad = malloc(n);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct err e;

	if (!bad || fd < 0)
		abort();
	memcpy(bad, good, n);
	for (; size >= 4; edits += 4, size -= 4) {
		size_t at = (size_t)edits[0] % (n / PAGE) * PAGE +
			    ((size_t)edits[1] << 8 | edits[2]) % PAGE;

		bad[at] ^= edits[3];
	}
	if (file_write_fd(fd, path, bad, n, &e))
		abort();
	close(fd);
	free(bad);
}

uint8_t *fuzz_read(const char *path, size_t *n)
{
	struct buf b = BUF_MAX(1 << 26);
	struct err e;

	if (file_read(path, &b, &e))
		abort();
	*n = b.n;
	return (uint8_t *)buf_take(&b);
}

static void write_tree_file(struct vfs *v, const char *path, const void *p,
			    size_t n)
{
	struct vfs_put how = {.parents = true};
	struct err e;

	if (vfs_write_file(v, path, (struct blob){p, n}, &how, &e))
		abort();
}

void fuzz_fill(struct vfs *v)
{
	static char big[3 * VFS_CHUNK];
	struct vfs_new fifo = {.mode = S_IFIFO | 0600};
	struct vfs_attr a;
	struct err e;

	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (char)(i * i >> 7);
	write_tree_file(v, "d/e/text", "some text\n", 10);
	write_tree_file(v, "d/big", big, sizeof big);
	write_tree_file(v, "d/even", "text text text text text text text text",
			39);
	write_tree_file(v, "empty", "", 0);
	if (vfs_symlink(v, "d/e", "link", &e) ||
	    vfs_walk(v, "d/even", VFS_NOFOLLOW, &a, &e) ||
	    vfs_link(v, a.ino, (struct vfs_at){VFS_ROOT, "hard"}, &a, &e) ||
	    vfs_setxattr(v, a.ino, "user.x", (struct blob){"value", 5}, 0,
			 &e) ||
	    vfs_make(v, (struct vfs_at){VFS_ROOT, "fifo"}, &fifo, &a, &e))
		abort();
}

void fuzz_check_error(const struct err *e)
{
	assert(e->text[0] && !strchr(e->text, '\n'));
}
