/* Any bytes are an archive or are refused with one sentence; either way fsck
 * finds no fault afterwards, and nothing lies outside of the target. */
#include "db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/check.h"
#include "vfs/node.h"
#include "vfs/path.h"
#include "vfs/port.h"
#include "vfs/vfs.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sql *db;

static char dir[] = "/tmp/fuzz-vfs-XXXXXX";

static void clean_up(void)
{
	static const char *const names[] = {"a.sqlite", "a.sqlite-wal",
					    "a.sqlite-shm"};
	char path[64];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

static struct vfs *space(void)
{
	static struct vfs *v;
	char path[64];
	struct err e;

	if (v)
		return v;
	if (!mkdtemp(dir) || atexit(clean_up))
		abort();
	snprintf(path, sizeof path, "%s/a.sqlite", dir);
	if (db_open(&db, path, &agent_schema, SQL_CREATE, &e) ||
	    vfs_create(db, "main", NULL, &e) ||
	    vfs_open(&v, db, "main", "fuzz", &e) ||
	    vfs_set_quota(v, 1 << 24, 1000, &e))
		abort();
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfs *v = space();
	struct vfs_port p = {.path = "in"};
	struct vfs_check c = {.deep = true};
	struct vfs_dir d;
	struct err e = {0};
	int fd = memfd_create("tar", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) < 0)
		abort();
	if (vfs_import_tar(v, fd, &p, &e))
		assert(e.text[0] && !strchr(e.text, '\n'));
	close(fd);
	assert(!vfs_check(db, &c, &e) && c.found == 0);
	assert(!vfs_readdir(v, VFS_ROOT, &d, &e));
	assert(d.n <= 1);
	vfs_dir_fini(&d);
	vfs_remove(v, "in", true, &e);
	return 0;
}
